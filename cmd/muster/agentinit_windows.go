package main

import "context"

// runAsInit is not called: Windows has no first process.
func runAsInit(context.Context) error { return nil }
