package main

// otherOwner is not known on Windows.
func otherOwner(string) string { return "" }
