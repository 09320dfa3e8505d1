// Command gen writes the generated files of package wire from the API model.
//
// It is run by go generate in internal/wire, reads model/gamelift.json there and writes the zz_*.go files. The same
// model always gives the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("dir", ".", "directory of package wire")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run generates all files and writes them into dir.
func run(dir string) error {
	files, err := generate(filepath.Join(dir, "model", "gamelift.json"))
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the contents of the generated files by name.
func generate(modelFile string) (map[string][]byte, error) {
	m, err := loadModel(modelFile)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for name, write := range map[string]func(*model, *source) error{
		"zz_types.go":      writeTypes,
		"zz_enums.go":      writeEnums,
		"zz_operations.go": writeOperations,
		"zz_rules.go":      writeRules,
	} {
		var s source
		if err := write(m, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := s.format()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = text
	}
	return files, nil
}
