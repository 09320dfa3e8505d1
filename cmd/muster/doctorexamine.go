package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/server"
)

// Outcomes of a check.
const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkFailure = "failure" // exit status 1
	checkSkipped = "skipped"
)

// A finding is one result of muster doctor, in the form of --json.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"` // what to do; "" if there is nothing to do
}

// probes read the state of this machine. Tests replace them.
type probes struct {
	owners func(context.Context, []int) map[int][]portOwner
	disk   func(dir string) (size, free uint64)
	syncs  func(dir string) ([]time.Duration, error)
	files  func(pid int) int              // limit of open files; pid 0: this process
	synced func() (yes, known bool)       // whether the system's clock is synchronised
	owner  func(file string) (uid string) // "": this user, or unknown
}

func realProbes() probes {
	return probes{portOwners, server.DiskOf, syncTimes, openFilesOf, clockSynced, otherOwner}
}

// An examination is a run of muster doctor without --legacy.
type examination struct {
	*doctor
	config  muster.Config
	ready   bool // a service answers at the setting listen
	pid     int  // of the process that listens there; 0: unknown
	check   string
	found   []finding
	shards  *operator.ShardList // of the service that was called; nil: none
	refused error               // of the call
}

// examine runs every check, and prints what it has found. It fails if a check does.
func (d *doctor) examine(ctx context.Context) error {
	e := &examination{doctor: d}
	loaded := e.load()
	if loaded {
		e.meetService(ctx)
	}
	e.callService(ctx)
	for _, c := range []struct {
		name     string
		settings bool // it needs them
		run      func(context.Context)
	}{
		{"clock", false, e.clock}, {"ports", true, e.listening}, {"disk", true, e.disk},
		{"descriptors", true, e.descriptors}, {"certificates", true, e.certificates}, {"keys", false, e.secrets},
		{"engine", true, e.engine}, {"cluster", true, e.cluster},
	} {
		e.check = c.name
		if c.settings && !loaded {
			e.add(checkSkipped, "", "it needs valid settings")
			continue
		}
		c.run(ctx)
	}
	return e.report()
}

// load reads the settings, and reports whether they are valid.
func (e *examination) load() bool {
	e.check = "settings"
	c, _, err := e.settings()
	if misuse, ok := errors.AsType[*misuseError](err); ok {
		err = misuse.error
	}
	if err == nil {
		err = server.ExamineTargets(c)
	}
	for _, err := range eachError(err) {
		fix := "Correct the file or the variable; \"muster config\" prints all settings with their sources."
		if bad, ok := errors.AsType[*config.SettingError](err); ok {
			fix = fmt.Sprintf("Change the setting %s; \"muster serve --help-all\" describes it.", bad.Setting)
		}
		e.add(checkFailure, fix, "%s", err)
	}
	if err != nil {
		return false
	}
	e.config = c
	e.add(checkOK, "", "valid; %s", cmp.Or(e.file(), "no file: defaults and variables MUSTER_…"))
	return true
}

// eachError returns the errors that are joined, or err alone.
func eachError(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // the outermost one
		var all []error
		for _, each := range joined.Unwrap() {
			all = append(all, eachError(each)...)
		}
		return all
	}
	return []error{err}
}

// add adds a finding of the present check.
func (e *examination) add(status, fix, format string, args ...any) {
	e.found = append(e.found, finding{e.check, status, oneLine(fmt.Sprintf(format, args...)), oneLine(fix)})
}

// meetService finds out whether a service runs at the setting listen.
func (e *examination) meetService(ctx context.Context) {
	at, err := readinessURL(e.config)
	if err != nil {
		return
	}
	answer, err := requestHealth(ctx, at)
	e.ready = err == nil && answer == "ready"
	for _, o := range e.probes.owners(ctx, []int{portNumber(e.config.Listen)})[portNumber(e.config.Listen)] {
		e.pid = cmp.Or(e.pid, o.PID)
	}
}

// callService requests the shards of the service that flags or the environment name: the state of its engine.
func (e *examination) callService(ctx context.Context) {
	if e.noService = errors.Is(e.incomplete, errNoEndpoint); e.noService {
		return
	}
	if e.refused = e.incomplete; e.refused != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	list := new(operator.ShardList)
	if e.refused = e.ask(ctx, path("shards"), list); e.refused == nil {
		e.shards = list
	}
}

const callAService = "To check a running service, too, name it with --endpoint or --profile, or source muster.env."

// unreachable reports whether the call got no answer, rather than a refusal.
func (e *examination) unreachable() bool {
	_, ok := errors.AsType[*url.Error](e.refused)
	return ok
}

// report prints the findings. Its error names the checks that have failed.
func (e *examination) report() error {
	var out bytes.Buffer
	if e.asJSON {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(map[string]any{"findings": e.found}); err != nil {
			return err
		}
	} else {
		writeFindings(&out, e.found)
	}
	if _, err := e.stdout.Write(out.Bytes()); err != nil {
		return err
	}
	var failed []string
	for _, f := range e.found {
		if f.Status == checkFailure && !slices.Contains(failed, f.Check) {
			failed = append(failed, f.Check)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s failed: %s", counted(len(failed), "check"), strings.Join(failed, ", "))
	}
	return nil
}

func writeFindings(to io.Writer, found []finding) {
	const indent = "                        "
	for _, f := range found {
		writeWrapped(to, fmt.Sprintf("%-8s  %-12s  ", f.Status, f.Check), indent, f.Text)
		if f.Fix != "" {
			writeWrapped(to, fmt.Sprintf("%-8s  %-12s  ", "", "fix:"), indent, f.Fix)
		}
	}
}

// portNumber returns the port of an address; 0: there is none.
func portNumber(address string) (port int) {
	if _, text, err := net.SplitHostPort(address); err == nil {
		_, _ = fmt.Sscan(text, &port)
	}
	return port
}
