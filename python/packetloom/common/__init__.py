"""What every other room uses: errors, quantities, files, the machine. It imports no other room."""
