package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// A dialect is how a kind of shell sets environment variables.
type dialect struct {
	suffix string // of files with such lines, instead of .env; empty: as envFile is named
	set    string // format of a line: the variable's name and its quoted value
	quote  func(string) string
	source string // format of the command that runs a file: its quoted path
}

var (
	posix = dialect{"", "export %s=%s", shellQuote, "source %s"}
	fish  = dialect{".fish", "set -gx %s %s", fishQuote, "source %s"}
	// Windows runs no scripts by default, so PowerShell reads the file as text.
	// Source: Microsoft, about_Execution_Policies.
	powerShell = dialect{".ps1", "$env:%s = %s", powerShellQuote,
		"Get-Content -Raw -Encoding utf8 -LiteralPath %s | Invoke-Expression"}
)

// userDialect returns the dialect of the user's shell. shell is the variable SHELL, which Git Bash sets on Windows,
// too, and PowerShell does not.
func userDialect(goos, shell string) dialect {
	switch name := filepath.Base(shell); {
	case name == "fish":
		return fish
	case name == "pwsh", goos == "windows" && shell == "":
		return powerShell
	default:
		return posix
	}
}

// file returns the path of the form of envFile in this dialect.
func (d dialect) file(envFile string) string {
	if d.suffix == "" {
		return envFile
	}
	return strings.TrimSuffix(envFile, ".env") + d.suffix
}

// lines returns a line for each variable.
func (d dialect) lines(variables []variable) string {
	var lines strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&lines, d.set+"\n", v.name, d.quote(v.value))
	}
	return lines.String()
}

// line returns lines as one.
func (d dialect) line(variables ...variable) string {
	return strings.ReplaceAll(strings.TrimSuffix(d.lines(variables), "\n"), "\n", "; ")
}

// read returns the command that sets the variables of envFile.
func (d dialect) read(envFile string) string { return fmt.Sprintf(d.source, d.quote(d.file(envFile))) }

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellQuote formats s as one word of a POSIX shell.
func shellQuote(s string) string {
	if shellSafe.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// fishQuote formats s as one word of fish. Source: fish documentation, "Quotes".
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// powerShellQuote formats s as a string of PowerShell, which ends at any of five quotation marks, unless it is doubled.
// Source: Microsoft, about_Quoting_Rules; the PowerShell language specification, 2.3.5.2.
func powerShellQuote(s string) string {
	return "'" + regexp.MustCompile("['‘’‚‛]").ReplaceAllString(s, "$0$0") + "'"
}
