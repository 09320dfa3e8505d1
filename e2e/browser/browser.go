// Package browser drives Chromium in tests of pages: a browser for each test binary, and a tab with its own cookies for
// each test. A tab fails its test if a page logs to the console, violates its content security policy, does not load
// one of its files, or sends a request to another origin.
//
// An error ends the test with Fatal, so that only the test's own goroutine may use a tab.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"github.com/muster-gg/muster/mustertest"
)

// chosen is the environment variable with the path of a browser.
const chosen = "MUSTER_BROWSER"

// programs are the names under which Chromium and Chrome are installed.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// find returns the path of a browser; "" if none is installed.
func find() string {
	if path := os.Getenv(chosen); path != "" {
		return path
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// running is the browser of this test binary.
var running struct {
	sync.Mutex
	ctx   context.Context // nil: not started
	close func() error
}

// started returns the context of the browser, which it starts if need be. It skips the test if none is installed.
func started(t testing.TB) context.Context {
	t.Helper()
	program := find()
	if program == "" {
		t.Skipf("no browser is installed: install Chromium (Debian, Ubuntu: apt install chromium; macOS: brew install "+
			"--cask chromium), or set %s to the path of a Chromium or Chrome", chosen)
	}
	running.Lock()
	defer running.Unlock()
	if running.ctx != nil {
		return running.ctx
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(), options(program)...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		release()
		t.Fatalf("start %s: %v", program, err)
	}
	running.ctx = ctx
	running.close = func() error {
		defer release()
		defer cancel()
		limited, done := context.WithTimeout(ctx, mustertest.Patience)
		defer done()
		return chromedp.Cancel(limited)
	}
	return ctx
}

// options are those of a browser without a window that reaches no address but loopback.
func options(program string) []chromedp.ExecAllocatorOption {
	all := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.WSURLReadTimeout(time.Minute), // the default of 20 s is short on a busy machine
		chromedp.DisableGPU,
		chromedp.Flag("allow-pre-commit-input", true), // else it drops keys and clicks before the first frame of a page
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	if os.Geteuid() == 0 {
		all = append(all, chromedp.NoSandbox) // Chromium refuses to run as root with its sandbox
	}
	return all
}

// Close closes the browser of this test binary, if one was started.
func Close() error {
	if running.ctx == nil {
		return nil
	}
	if err := running.close(); err != nil {
		return fmt.Errorf("close the browser: %w", err)
	}
	return nil
}

// Main runs the tests of a package, closes the browser, and checks that no goroutine is left.
func Main(m *testing.M) {
	status := m.Run()
	if err := Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}
