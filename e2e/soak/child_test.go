//go:build unix

package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"go.uber.org/goleak"

	"github.com/muster-gg/muster/e2e/binary"
	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/child"
)

// binaryDir holds the binary for all tests of this package.
var binaryDir string

func TestMain(m *testing.M) {
	var err error
	if binaryDir, err = os.MkdirTemp("", "muster-soak-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(binaryDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// build makes the binary, once.
var build = sync.OnceValues(func() (string, error) { return binary.Build(context.Background(), binaryDir) })

// startLimit is how long a service may take to be ready, or to stop.
const startLimit = 60 * time.Second

// A service is the binary while it runs as a child process.
type service struct {
	t       *testing.T
	data    string
	command *exec.Cmd
	ended   chan error
	http    *http.Transport
	env     map[string]string // what it says about itself

	mu  sync.Mutex
	log []string
}

// startService runs the binary and returns when it is ready. The test's end
// stops it.
func startService(t *testing.T, options ...string) *service {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, data: filepath.Join(t.TempDir(), "data"), ended: make(chan error, 1),
		http: &http.Transport{MaxIdleConnsPerHost: 512}}
	s.command = exec.Command(binary, append([]string{"dev", "--quiet", "--no-sample", "--no-machine", "--data",
		s.data, "--listen", "127.0.0.1:0",
		"--gateway-listen", ""}, options...)...)
	stderr, err := s.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.note(lines.Text())
		}
		s.ended <- s.command.Wait()
	}()
	t.Cleanup(s.stop)
	s.awaitReady()
	return s
}

func (s *service) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

// logged is what the service has logged so far.
func (s *service) logged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// complaints counts the warnings and errors in its log, without what differs from
// one to the next.
func (s *service) complaints() map[string]int {
	counts := map[string]int{}
	for _, line := range s.logged() {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			_, message, _ := strings.Cut(line, "msg=")
			counts["× in the log: "+unlike.ReplaceAllString(message, "…")]++
		}
	}
	return counts
}

// unlike are ids and numbers in a line of the log.
var unlike = regexp.MustCompile(`[0-9a-f-]*[0-9][0-9a-f.:-]*`)

func (s *service) awaitReady() {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	for {
		text, err := os.ReadFile(filepath.Join(s.data, "muster.env"))
		switch {
		case err == nil:
			s.env = child.Variables(string(text))
			return
		case !errors.Is(err, fs.ErrNotExist):
			s.t.Fatal(err)
		}
		select {
		case <-tick.C:
		case err := <-s.ended:
			s.ended <- err
			s.t.Fatalf("the service ended by itself: %v\n%s", err, strings.Join(s.logged(), "\n"))
		case <-limit.C:
			s.t.Fatal("the service did not get ready")
		}
	}
}

// stop asks the service to end, which it must do well.
func (s *service) stop() {
	s.http.CloseIdleConnections()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Errorf("stop: %v", err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("the service ended with %v\n%s", err, strings.Join(s.logged(), "\n"))
		}
	case <-time.After(startLimit):
		_ = s.command.Process.Kill() // Wait tells how that went
		s.t.Errorf("the service does not stop: %v", <-s.ended)
	}
}

// client makes AWS calls.
func (s *service) client(change ...func(*gamelift.Options)) *gamelift.Client {
	return gamelift.New(gamelift.Options{
		Region: s.env["AWS_REGION"], BaseEndpoint: aws.String(s.env["AWS_ENDPOINT_URL_GAMELIFT"]),
		Credentials: credentials.NewStaticCredentialsProvider(s.env["AWS_ACCESS_KEY_ID"],
			s.env["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient: &http.Client{Transport: calls.WholeBodies{RoundTripper: s.http}, Timeout: 30 * time.Second},
		Retryer:    aws.NopRetryer{},
	}, change...)
}

// metrics reads what the service says in Prometheus' text format, by name and
// labels.
func (s *service) metrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.env["MUSTER_HTTP_URL"]+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: s.http, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if value, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil {
			values[lines.Text()[:at]] = value
		}
	}
	return values, lines.Err()
}

// The directory of the history among those of the streams, and that of its index.
const (
	historyStream = "MUSTER_HISTORY"
	historyIndex  = "history.index"
)

// disk is how many bytes the files of the data directory take up: those of the
// history, and all others.
func (s *service) disk() (history, rest int64, err error) {
	err = filepath.WalkDir(s.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return goneIsFine(err)
		}
		info, err := entry.Info()
		if err != nil {
			return goneIsFine(err)
		}
		if strings.Contains(path, historyStream) || strings.Contains(path, historyIndex) {
			history += allocated(info)
		} else {
			rest += allocated(info)
		}
		return nil
	})
	return history, rest, err
}

// allocated is the space that a file takes on the disk.
func allocated(info fs.FileInfo) int64 {
	const block = 512 // Source: POSIX, sys/stat.h, st_blocks
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Blocks) * block
	}
	return info.Size()
}

// goneIsFine passes over a file that was removed while the directory was read.
func goneIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
