package logs

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/muster-gg/muster/internal/agent/supervisor"
)

const (
	// MaxSize is the maximum size of an archive in bytes.
	MaxSize = 200 << 20
	// maxUnpacked is how much of the files of the game is packed at first; packed is what surely fits.
	maxUnpacked, packed = 2 << 30, MaxSize - 16<<20
	// archiveFile is the name of the archive in the directory of the game server.
	archiveFile = "log.zip"
	// maxLine is longer than any line of the output, in bytes.
	maxLine = 96 << 10
)

// errTooLarge is the error of an archive that is larger than MaxSize.
var errTooLarge = fmt.Errorf("the archive is larger than %d bytes", MaxSize)

// process is process.json: what is known of the game server.
type process struct {
	ProcessID    string    `json:"processId"`
	FleetID      string    `json:"fleetId"`
	ComputeName  string    `json:"computeName"`
	GameSessions []session `json:"gameSessions"`
	LaunchPath   string    `json:"launchPath"`
	Parameters   string    `json:"parameters,omitempty"`
	Port         int       `json:"port,omitempty"` // leased for {port}
	Started      time.Time `json:"startTime"`
	Ended        time.Time `json:"endTime"`
	ExitCode     int       `json:"exitCode"` // -N: ended by signal N; -1 also if it is unknown
	Reason       string    `json:"reason,omitempty"`
	User         float64   `json:"userCpuSeconds"`
	System       float64   `json:"systemCpuSeconds"`
	MaxRSS       int64     `json:"maxResidentBytes,omitempty"`
}

type session struct {
	ID        string    `json:"gameSessionId"`
	Activated time.Time `json:"activationTime"`
}

func processOf(f *supervisor.Found) process {
	p := process{
		ProcessID: f.ID, FleetID: f.Fleet, ComputeName: f.Compute, GameSessions: []session{},
		LaunchPath: f.Entry.LaunchPath, Parameters: f.Entry.Parameters, Port: f.Port, Started: f.Started.UTC(),
		Ended: f.Exit.Ended.UTC(), ExitCode: f.Exit.Code, Reason: f.Notes.Reason, User: f.Exit.User.Seconds(),
		System: f.Exit.System.Seconds(), MaxRSS: f.Exit.MaxRSS,
	}
	for _, s := range f.Notes.Sessions {
		p.GameSessions = append(p.GameSessions, session{s.ID, s.Activated.UTC()})
	}
	return p
}

// Archive writes the log of a game server that has ended, with its notes, and returns the path of the archive. One that
// was written before is used again.
func Archive(f *supervisor.Found) (string, error) {
	path := filepath.Join(f.Dir, archiveFile)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	a, err := newArchive(f)
	if err != nil {
		return "", err
	}
	defer a.close()
	err = a.writeFile(path+"~", maxUnpacked)
	if errors.Is(err, errTooLarge) {
		err = a.writeFile(path+"~", packed)
	}
	if err == nil {
		err = os.Rename(path+"~", path)
	}
	if err != nil {
		_ = os.Remove(path + "~") // it may not exist
		return "", fmt.Errorf("archive the log of process %s: %w", f.ID, err)
	}
	return path, nil
}

// Remove removes the archive of a directory.
func Remove(dir string) error {
	err := os.Remove(filepath.Join(dir, archiveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// An archive is one that is being written.
type archive struct {
	of     *supervisor.Found
	places *places // nil: there are no files
	files  []file
	notes  []string // for ReadMe.txt
	zip    *zip.Writer
}

func newArchive(f *supervisor.Found) (*archive, error) {
	a := &archive{of: f}
	if len(f.Notes.LogPaths) == 0 {
		return a, nil
	}
	work, err := filepath.Abs(f.WorkDir)
	if err != nil {
		return nil, err
	}
	if a.places, err = openPlaces(work, f.Entry.LaunchPath); err != nil {
		a.notes = append(a.notes, err.Error())
		return a, nil
	}
	for _, path := range f.Notes.LogPaths {
		found, err := a.places.find(path, f.Started)
		a.files = append(a.files, found...)
		if err != nil {
			a.notes = append(a.notes, fmt.Sprintf("%s: %v.", path, err))
		}
	}
	if len(a.files) > maxFiles {
		a.files = a.files[:maxFiles]
		a.notes = append(a.notes, errTooMany.Error()+".")
	}
	return a, nil
}

func (a *archive) close() {
	if a.places != nil {
		_ = a.places.root.Close() // it was only read
	}
}

// writeFile writes the archive to a file, with at most so many bytes of the game's files.
func (a *archive) writeFile(path string, budget int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(a.write(&limited{f, MaxSize}, budget), f.Close())
}

// limited is a writer that fails with errTooLarge.
type limited struct {
	to   io.Writer
	left int64
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errTooLarge
	}
	return l.to.Write(p)
}

func (a *archive) write(to io.Writer, budget int64) error {
	a.zip = zip.NewWriter(to)
	a.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed) // game servers need the CPUs
	})
	text, err := json.MarshalIndent(processOf(a.of), "", "  ")
	if err != nil {
		return err
	}
	if err := a.entry("process.json", a.of.Exit.Ended, bytes.NewReader(append(text, '\n'))); err != nil {
		return err
	}
	for _, of := range []struct{ stream, name string }{{"out", "stdout.log"}, {"err", "stderr.log"}} {
		if err := a.output(of.stream, of.name); err != nil {
			return err
		}
	}
	notes, err := a.gameFiles(budget)
	if err != nil {
		return err
	}
	if notes = append(a.notes[:len(a.notes):len(a.notes)], notes...); len(notes) > 0 {
		text := "Missing from this log:\n\n" + strings.Join(notes, "\n") + "\n"
		if err := a.entry("ReadMe.txt", a.of.Exit.Ended, strings.NewReader(text)); err != nil {
			return err
		}
	}
	return a.zip.Close()
}

// entry adds a file to the archive.
func (a *archive) entry(name string, at time.Time, content io.Reader) error {
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at.UTC()})
	if err == nil {
		_, err = io.Copy(w, content)
	}
	return err
}

// output adds the lines of one stream of the output, each with its time.
func (a *archive) output(stream, name string) error {
	from, err := supervisor.Output(a.of.Dir)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.of.Exit.Ended.UTC()})
	if err != nil {
		return err
	}
	if supervisor.Cut(a.of.Dir) {
		if _, err := io.WriteString(w, "[older lines of stdout and stderr were removed]\n"); err != nil {
			return err
		}
	}
	lines := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		at, rest, _ := bytes.Cut(line, []byte(" "))
		of, text, _ := bytes.Cut(rest, []byte(" "))
		if string(of) == stream {
			if _, err := fmt.Fprintf(w, "%s %s\n", at, bytes.TrimSuffix(text, []byte("\n"))); err != nil {
				return err
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// gameFiles adds the files of the game, and returns what is missing of them.
func (a *archive) gameFiles(budget int64) (notes []string, err error) {
	for i, share := range shares(a.files, budget) {
		f := &a.files[i]
		problem, err := a.gameFile(f, share)
		if err != nil {
			return nil, err
		}
		if problem != nil {
			notes = append(notes, fmt.Sprintf("%s/%s: %v.", gameDir, f.path, problem))
		} else if share < f.size {
			notes = append(notes, fmt.Sprintf("%s/%s: the newest %d of %d bytes are here: an archive has at most %d "+
				"bytes.", gameDir, f.path, share, f.size, MaxSize))
		}
	}
	return notes, nil
}

// gameFile adds the newest bytes of a file. problem is why the file cannot be read.
func (a *archive) gameFile(f *file, share int64) (problem, err error) {
	// Without waiting, in case it has become a pipe.
	from, problem := a.places.root.OpenFile(filepath.FromSlash(f.path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if problem != nil {
		return problem, nil
	}
	defer from.Close() //nolint:errcheck // it was only read
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.New("it is no regular file any more"), nil
	}
	content := &reader{from: io.NewSectionReader(from, f.size-share, share)}
	name := strings.TrimPrefix(gameDir, "/") + "/" + f.path
	err = a.entry(name, f.at, content)
	return content.problem, err
}

// A reader ends at an error, and records it.
type reader struct {
	from    io.Reader
	problem error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.problem, err = err, io.EOF
	}
	return n, err
}
