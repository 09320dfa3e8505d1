package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/control"
)

const (
	// pushTimeout is the time limit of a call, whose body is large or which writes the archive of a build.
	pushTimeout = 15 * time.Minute

	pushBatch   = 8 << 20 // bytes of chunks in a call, if they are smaller
	pushUploads = 4       // calls at the same time
	pushRounds  = 3       // of sending what is missing: chunks of deleted builds are noticed late
)

// A push is a run of "muster push".
type push struct {
	*operatorCall
	control.BuildPush
	root    string
	inPlace string // a fleet; "": none
	now     bool
	alias   string // "": none
	keep    bool   // the old fleet
	fleet   string // that the build is attached to; "": none
	began   time.Time
}

// A pushResult is the output of "muster push".
type pushResult struct {
	Build  string `json:"buildId"`
	Files  int    `json:"files"`
	Size   int64  `json:"size"` // of the files, in bytes
	Chunks int    `json:"chunksSent"`
	Sent   int64  `json:"bytesSent"` // of all calls
	Fleet  string `json:"fleetId,omitempty"`
}

func (a *app) pushCommand() *cobra.Command {
	p := &push{}
	command := a.showCommand(help{
		use:   "push DIR",
		short: "Upload a directory as a build, sending only what has changed",
		long: `Upload the files of a directory as a build, and print its id. Only the parts of files
are sent that the newest builds of the same name do not have. The build is READY when
the command ends. Repeat a command that was interrupted: it sends the rest.

Symbolic links are kept as links, except in builds for Windows, which have the files
instead. The command needs the action gamelift:CreateBuild.

With --alias a new fleet of the build replaces the fleet of the alias ALIAS (its id,
ARN or name): it gets the same settings and capacity, and when it is ready the alias
leads to it. The old fleet is deleted when its game sessions have ended. Ctrl-C or a
failure before the alias has changed deletes the new fleet, and leaves the old one.

With --in-place the running fleet FLEET (its id, ARN or name) gets the build: server
processes without a game session start again from it at once, the others when their
game session ends, or with --now at once, too. If the build cannot be installed, the
fleet goes on with the one before, and the command fails. It is for development.

With --fleet the fleet FLEET (its id, ARN or name) has the build besides its own: game
sessions whose game property BuildVersion is the --build-version get a server process
of it. The command ends when the machines of the fleet have the files. A build that
has the version already is replaced.`,
		example: `  muster push ./server --name arena --build-version 1.3.0
  muster push ./server --name arena --operating-system WINDOWS_2022
  muster push ./server --alias live
  muster push ./server --in-place arena-dev --now
  muster push ./server --fleet arena-dev --build-version my-branch`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		p.operatorCall, p.root = o, args[0]
		switch {
		case p.inPlace != "" && p.alias != "" || p.fleet != "" && p.inPlace+p.alias != "":
			return &misuseError{errors.New("give one of --alias, --in-place and --fleet")}
		case p.fleet != "" && p.Version == "":
			return &misuseError{errors.New("--fleet needs --build-version")}
		case p.now && p.inPlace == "":
			return &misuseError{errors.New("--now needs --in-place")}
		case p.keep && p.alias == "":
			return &misuseError{errors.New("--keep needs --alias")}
		case p.inPlace != "":
			return p.runInPlace(ctx)
		case p.alias != "":
			return p.runAlias(ctx)
		case p.fleet != "":
			return p.runVersion(ctx)
		}
		return p.run(ctx)
	})
	f := command.Flags()
	f.StringVar(&p.Name, "name", "", "name of the build (default that of the directory)")
	f.StringVar(&p.Version, "build-version", "", "version of the build")
	f.StringVar(&p.OperatingSystem, "operating-system", "", "as in CreateBuild (default AMAZON_LINUX_2023)")
	f.StringVar(&p.ServerSDKVersion, "server-sdk-version", "", "version of the server SDK in the build")
	f.StringVar(&p.alias, "alias", "", "alias whose fleet is replaced, by id, ARN or name")
	f.BoolVar(&p.keep, "keep", false, "with --alias: do not delete the old fleet")
	f.StringVar(&p.inPlace, "in-place", "", "fleet that gets the build, by id, ARN or name")
	f.StringVar(&p.fleet, "fleet", "", "fleet that has the build besides its own, by id, ARN or name")
	f.BoolVar(&p.now, "now", false, "with --in-place: end server processes with a game session, too")
	return command
}

// run uploads, and prints the build.
func (p *push) run(ctx context.Context) error {
	result, err := p.upload(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "muster: build %s is READY: %s, %s, sent %s\n", result.Build,
		counted(result.Files, "file"), sizeText(result.Size), sizeText(result.Sent))
	return p.show(result, func(to io.Writer) { fmt.Fprintln(to, result.Build) })
}

// upload creates the build.
func (p *push) upload(ctx context.Context) (*pushResult, error) {
	absolute, err := filepath.Abs(p.root)
	if err != nil {
		return nil, err
	}
	p.Name = cmp.Or(p.Name, filepath.Base(absolute))
	status := p.newStatus()
	defer status.clear()
	tree, err := scanTree(ctx, p.root, p.OperatingSystem, status)
	if err != nil {
		return nil, err
	}
	p.Files = tree.files
	manifest, err := json.Marshal(p.BuildPush)
	if err != nil {
		return nil, err
	}
	result := &pushResult{Files: len(tree.files), Size: tree.size}
	for range pushRounds {
		var pushed control.BuildPushed
		if err := p.stream(ctx, path("builds"), "application/json", manifest, &result.Sent, &pushed); err != nil {
			return nil, fmt.Errorf("create the build: %w", err)
		}
		if pushed.Build != nil {
			result.Build = pushed.Build.BuildID
			return result, nil
		}
		if err := p.sendChunks(ctx, tree, pushed.Missing, status, result); err != nil {
			return nil, fmt.Errorf("upload: %w", err)
		}
	}
	return nil, errors.New("create the build: the service misses chunks that were sent; see its log")
}

// sendChunks sends chunks in batches, several at the same time.
func (p *push) sendChunks(ctx context.Context, tree *pushTree, missing []string, status *pushStatus,
	result *pushResult) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(pushUploads)
	var sent atomic.Int64
	status.begin("Uploading", tree.sizeOf(missing))
	for len(missing) > 0 && within.Err() == nil {
		batch := tree.batch(missing)
		missing = missing[len(batch):]
		result.Chunks += len(batch)
		group.Go(func() error {
			body, err := tree.read(batch)
			if err != nil {
				return err
			}
			var wire int64
			if err := p.stream(within, path("build-chunks"), "application/octet-stream", body, &wire, nil); err != nil {
				return err
			}
			sent.Add(wire)
			status.add(tree.sizeOf(batch))
			return nil
		})
	}
	err := group.Wait()
	result.Sent += sent.Load()
	return cmp.Or(err, ctx.Err())
}

// compressor compresses bodies. It is safe for concurrent use.
var compressor = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // the options are constant
	}
	return e
}()

// stream makes a call whose body the service reads while it serves it, and adds the size of the body to sent. answer
// may be nil.
func (o *operatorCall) stream(ctx context.Context, path, media string, body []byte, sent *int64, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	body = compressor.EncodeAll(body, nil)
	request, err := o.signedAs(ctx, http.MethodPost, path, body, http.Header{
		"Content-Type": {media}, "Content-Encoding": {"zstd"}})
	if err != nil {
		return err
	}
	*sent += int64(len(body))
	return o.perform(request, decodeTo(answer))
}
