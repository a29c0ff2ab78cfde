"""Results folders: written case by case, read, checked."""
