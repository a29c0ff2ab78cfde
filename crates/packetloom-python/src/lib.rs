//! Python bindings of packetloom: thin functions that delegate.
