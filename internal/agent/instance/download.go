package instance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	// headerLimit is how long the service may take to begin an answer.
	headerLimit = 30 * time.Second
	// stallLimit is how long a download may stand still before it is tried again.
	stallLimit = 30 * time.Second
	// downloadLimit is how long a build is tried to be downloaded without a new byte.
	downloadLimit = 20 * time.Minute
	// maxDamaged is how often a build is downloaded whose bytes have another hash.
	maxDamaged = 3
	// firstRetry and lastRetry are the longest pauses after the first failure, and after many.
	firstRetry, lastRetry = time.Second, 15 * time.Second

	// putTries is how often the output of an installer is sent, each within putLimit.
	putTries = 3
	putLimit = 10 * time.Second
	// maxOutput is how much of the output of an installer is kept, the newest part, in bytes.
	maxOutput = 1 << 20
)

// errFinal is in the error chain of an answer that another attempt does not change.
var errFinal = errors.New("another attempt would fail, too")

// A transfer is the download of an archive, over all attempts.
type transfer struct {
	b     *builds
	build protocol.Build
	file  *os.File
	sum   hash.Hash
	have  int64 // bytes
}

// download downloads the archive of a build. One that is complete already is only checked.
func (b *builds) download(ctx context.Context, build protocol.Build, path string) error {
	if sum, err := hashFile(path); err == nil && sum == build.SHA256 {
		return nil
	}
	if !strings.HasPrefix(build.Path, "/") {
		return failed(codeDownload, "build %s has no path to download it from", build.ID)
	}
	file, err := os.OpenFile(path+"~", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	t := &transfer{b: b, build: build, file: file, sum: sha256.New()}
	if err := errors.Join(t.run(ctx), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// run downloads the archive, with attempts that each go on where the one before has ended.
func (t *transfer) run(ctx context.Context) error {
	clock := t.b.cfg.Clock
	progress, pause := clock.Now(), firstRetry
	for damaged := 0; ; {
		before := t.have
		err := t.attempt(ctx)
		if err == nil {
			if hex.EncodeToString(t.sum.Sum(nil)) == t.build.SHA256 {
				return t.file.Sync()
			}
			damaged++
			err = fmt.Errorf("the %d bytes have another hash", t.have)
			if damaged == maxDamaged {
				err = fmt.Errorf("%w: %w", errFinal, err)
			}
			if err := t.restart(); err != nil {
				return err
			}
		} else if t.have > before {
			progress, pause = clock.Now(), firstRetry
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errFinal) || clock.Since(progress) > downloadLimit {
			return failed(codeDownload, "build %s cannot be downloaded: %v", t.build.ID, err)
		}
		wait := time.Duration(rand.Int64N(int64(pause))) //nolint:gosec // only spreads load
		t.b.cfg.Log.Warn("download of a build interrupted", "build", t.build.ID, "bytes", t.have, "error", err,
			"next_try", wait.Round(time.Millisecond))
		select {
		case <-clock.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, lastRetry)
	}
}

// restart discards what there is.
func (t *transfer) restart() error {
	t.sum.Reset()
	t.have = 0
	_, err := t.file.Seek(0, io.SeekStart)
	return errors.Join(err, t.file.Truncate(0))
}

// attempt reads the rest of the archive.
func (t *transfer) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.b.base+t.build.Path, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	if t.have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.have))
	}
	answer, err := t.b.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	switch code := answer.StatusCode; {
	case code == http.StatusPartialContent && t.have > 0 &&
		strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", t.have)):
	case code == http.StatusOK:
		if err := t.restart(); err != nil {
			return err
		}
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s", errFinal, answer.Status)
	default:
		return errors.New(answer.Status)
	}
	stalled := time.AfterFunc(stallLimit, func() { cancel(errors.New("no byte for a while")) })
	defer stalled.Stop()
	return t.copy(answer.Body, stalled)
}

// copy reads the archive up to its size.
func (t *transfer) copy(from io.Reader, stalled *time.Timer) error {
	buffer := make([]byte, 256<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			stalled.Reset(stallLimit)
			if t.have+int64(n) > t.build.Size {
				return fmt.Errorf("%w: it has more than %d bytes", errFinal, t.build.Size)
			}
			t.sum.Write(buffer[:n])
			if _, err := t.file.Write(buffer[:n]); err != nil {
				return fmt.Errorf("%w: %w", errFinal, err)
			}
			t.have += int64(n)
		}
		switch {
		case err == io.EOF && t.have < t.build.Size: //nolint:errorlint // of Read
			return io.ErrUnexpectedEOF
		case err == io.EOF: //nolint:errorlint // of Read
			return nil
		case err != nil:
			return withoutURL(err)
		}
	}
}

// withoutURL returns an error of a client without the URL, which contains a permission.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// putOutput sends the output of an installer for an instance.
func (b *builds) putOutput(ctx context.Context, dir string, w protocol.Instance) {
	output, err := os.ReadFile(filepath.Join(dir, outputFile))
	if err != nil || !strings.HasPrefix(w.LogPath, "/") {
		return // there is none, or it is not wanted
	}
	for range putTries {
		if err = b.put(ctx, w.LogPath, output); err == nil || errors.Is(err, errFinal) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		b.cfg.Log.Warn("output of the installer not sent", "instance", w.ID, "error", err)
	}
}

func (b *builds) put(ctx context.Context, path string, output []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, b.base+path, bytes.NewReader(output))
	if err != nil {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	answer, err := b.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }() // it has no content that matters
	switch code := answer.StatusCode; {
	case code < 300:
		return nil
	case code < 500:
		return fmt.Errorf("%w: %s", errFinal, answer.Status)
	}
	return errors.New(answer.Status)
}
