package muster

//go:generate go run ./internal/compatdoc docs/reference/compatibility.md
