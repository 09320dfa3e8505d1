package server

// openFiles is how many handles this process may have open. Windows has no small limit;
// this one bounds the memory of connections.
func openFiles() int { return 32_768 }
