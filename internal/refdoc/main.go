// Command refdoc writes the pages of docs/reference that follow from the code: the settings, the operations of the API
// and the metrics. So the pages say what the program does.
//
// Usage: refdoc DIRECTORY
package main

//go:generate go run . ../../docs/reference

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// pages are the files of the directory, in Markdown.
var pages = map[string]func() ([]byte, error){
	"compatibility.md": operationsPage,
	"configuration.md": settingsPage,
	"metrics.md":       metricsPage,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: refdoc DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "refdoc:", err)
		os.Exit(1)
	}
}

func write(dir string) (err error) {
	for name, page := range pages {
		text, failed := page()
		if failed == nil {
			failed = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		err = errors.Join(err, failed)
	}
	return err
}
