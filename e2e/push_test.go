package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/binary"
	"github.com/muster-gg/muster/e2e/clients"
)

// TestPushBuild pushes a directory that the AWS CLI has uploaded, over both schemes: the files are the same for the
// service. Then it pushes a changed one.
func TestPushBuild(t *testing.T) {
	t.Parallel()
	s := start(t)
	program, err := binary.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https"} {
		root := t.TempDir()
		data := noise(10_000_000)
		if err := errors.Join(os.Mkdir(filepath.Join(root, "bin"), 0o700),
			os.WriteFile(filepath.Join(root, "bin", "server"), data, 0o755), //nolint:gosec // a program
			os.WriteFile(filepath.Join(root, "readme.txt"), []byte("read me over "+scheme), 0o600)); err != nil {
			t.Fatal(err)
		}
		environ := s.buildEnviron(scheme)
		cli := clients.AWSCLI(t, environ)
		if _, err := cli.Run("gamelift", "upload-build", "--name", scheme, "--build-version", "1",
			"--build-root", root); err != nil {
			t.Fatal(err)
		}
		push := func() (made struct {
			BuildID    string
			ChunksSent int
			BytesSent  int64
		}) {
			t.Helper()
			command := exec.CommandContext(t.Context(), program, "push", root, "--name", scheme, "--json")
			command.Env = environ
			var said strings.Builder
			command.Stderr = &said
			out, err := command.Output()
			if err == nil {
				err = json.Unmarshal(out, &made)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			return made
		}
		if same := push(); same.ChunksSent != 0 || same.BytesSent > 10_000 {
			t.Errorf("%s: what the AWS CLI uploaded is sent again: %+v", scheme, same)
		}
		data[0] ^= 1
		writeProgram(t, root, data)
		push()
		data[9_000_000] ^= 1
		writeProgram(t, root, data)
		changed := push()
		if changed.ChunksSent != 1 || changed.BytesSent > 5_000_000 {
			t.Errorf("%s: of one changed byte %+v is sent", scheme, changed)
		}
		described, err := s.client().DescribeBuild(t.Context(), &gamelift.DescribeBuildInput{BuildId: &changed.BuildID})
		if err != nil {
			t.Fatal(err)
		}
		if b := described.Build; b.Status != types.BuildStatusReady || *b.Name != scheme || *b.SizeOnDisk < 10_000_000 {
			t.Errorf("%s: %+v", scheme, b)
		}
	}
}

// writeProgram replaces the program in a directory.
func writeProgram(t *testing.T, root string, data []byte) {
	t.Helper()
	path := filepath.Join(root, "bin", "server")
	if err := os.WriteFile(path, data, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}
