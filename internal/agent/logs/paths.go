package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	// maxPath and maxPathWindows are the maximum lengths of a log path in bytes. Source: GameLift Agent.
	maxPath, maxPathWindows = 4096, 259
	// forbidden are characters that no log path may have on systems other than Windows. Source: GameLift Agent.
	forbidden = "<>\"'|*?[]\\\n\x00"
	// maxFiles is the maximum number of files of the game in an archive.
	maxFiles = 1000
	// clockSlack is by how much the time of a file may be before that of the clock.
	clockSlack = 2 * time.Second
)

// gameDir is the directory of the game on GameLift's instances.
const gameDir = "/local/game"

var errOutside = errors.New("it is not below /local/game/, which is the working directory of game servers")

// places are the directories that a game server may have its logs in.
type places struct {
	windows bool
	work    string   // absolute path of the working directory, which stands for gameDir
	program string   // absolute path of the directory of the executable
	root    *os.Root // of work, so that no link leads out of it
}

// openPlaces opens the working directory of a game server with a launch path.
func openPlaces(work, launchPath string) (*places, error) {
	p := &places{windows: runtime.GOOS == "windows", work: work}
	program, err := filepath.Abs(launchPath)
	if rest, inGame := p.inGame(launchPath); inGame {
		program = filepath.Join(work, filepath.FromSlash(rest))
	} else if err != nil {
		return nil, err
	}
	p.program = filepath.Dir(program)
	if p.root, err = os.OpenRoot(work); err != nil {
		return nil, fmt.Errorf("working directory %s: %w", work, fs.ErrNotExist)
	}
	return p, nil
}

// inGame returns what follows the directory of the game in a path, with slashes.
func (p *places) inGame(path string) (rest string, ok bool) {
	if p.windows {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	rest, ok = cutPrefixFold(path, gameDir+"/")
	if !ok && p.windows {
		rest, ok = cutPrefixFold(path, "C:/Game/")
	}
	return rest, ok
}

// relative returns a log path relative to the directory of the game, with slashes.
func (p *places) relative(logPath string) (string, error) {
	limit := maxPath
	if p.windows {
		limit = maxPathWindows
	}
	switch {
	case len(logPath) == 0 || len(logPath) > limit:
		return "", fmt.Errorf("it has %d bytes: 1 to %d are allowed", len(logPath), limit)
	case !p.windows && strings.ContainsAny(logPath, forbidden):
		return "", errors.New("it has a character that is not allowed: one of < > \" ' | * ? [ ] \\")
	}
	rest, inGame := p.inGame(logPath)
	if !inGame {
		if !filepath.IsAbs(logPath) {
			logPath = filepath.Join(p.program, logPath)
		}
		rel, err := filepath.Rel(p.work, logPath)
		if err != nil {
			return "", errOutside
		}
		rest = filepath.ToSlash(rel)
	}
	rest = path.Clean(rest)
	if rest == "." || !filepath.IsLocal(filepath.FromSlash(rest)) {
		return "", errOutside
	}
	return rest, nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// A file is one that belongs to a log.
type file struct {
	path string // below the working directory, with slashes
	size int64
	at   time.Time // of its last change
}

// find returns the regular files of a log path that were changed since a time. The error says why there is none.
func (p *places) find(logPath string, since time.Time) (found []file, err error) {
	rel, err := p.relative(logPath)
	if err != nil {
		return nil, err
	}
	names := []string{rel}
	if p.windows && strings.ContainsAny(path.Base(rel), "*?") {
		if names, err = fs.Glob(p.root.FS(), rel); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		files, err := p.walk(name, since.Add(-clockSlack))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return append(found, files...), err
		}
		found = append(found, files...)
	}
	if len(found) == 0 {
		return nil, errors.New("there is no file that was changed while the process ran")
	}
	return found, nil
}

// errTooMany ends a walk.
var errTooMany = fmt.Errorf("there are more than %d files: some were left out", maxFiles)

func (p *places) walk(name string, since time.Time) (found []file, err error) {
	err = fs.WalkDir(p.root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := p.root.Stat(filepath.FromSlash(path)) // follows links within the root
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.Mode().IsRegular() || info.ModTime().Before(since):
			return nil
		case len(found) == maxFiles:
			return errTooMany
		}
		found = append(found, file{path, info.Size(), info.ModTime()})
		return nil
	})
	return found, err
}

// shares divides a number of bytes among files: small ones are whole, the others have equal shares.
func shares(files []file, budget int64) []int64 {
	share := make([]int64, len(files))
	order := make([]int, len(files))
	for i := range files {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(min(1, max(-1, files[a].size-files[b].size))) })
	for n, i := range order {
		share[i] = min(files[i].size, budget/int64(len(order)-n))
		budget -= share[i]
	}
	return share
}
