//go:build unix

package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

// playSDK is a game server with an AWS SDK. It writes a line with its keys to the file RECORD, and waits to be ended.
func playSDK() error {
	c, err := config.LoadDefaultConfig(context.Background(), config.WithRegion("us-west-2"))
	if err != nil {
		return err
	}
	k, err := c.Credentials.Retrieve(context.Background())
	if err != nil {
		return err
	}
	source, _, _ := strings.Cut(k.Source, ":")
	line := fmt.Sprintf("%s|%s|%s|%d\n", source, k.AccessKeyID, k.SessionToken, os.Getpid())
	record, err := os.OpenFile(os.Getenv("RECORD"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := record.WriteString(line); err != nil {
		return err
	}
	time.Sleep(patience * 10)
	return nil
}

// TestSDKFindsKeys: an AWS SDK in a game server finds the keys of the role in the file and at the endpoint, and none
// without a role.
func TestSDKFindsKeys(t *testing.T) {
	f := newFakeService(t)
	build := f.build("build-1", packed{name: "bin/game", content: "#!/bin/sh\nexec $PROGRAM sdkgame\n"})
	served, file := instanceOf("i-1", build, process(1, "")), instanceOf("i-2", build, process(1, ""))
	served.Role, file.Role, file.RoleFile = "arn:role", "arn:role", true
	f.wantInstances(served, file)
	stop := f.run(func(c *Config) {
		c.Environ = append(c.Environ, "PROGRAM="+os.Args[0], "HOME="+f.data, "AWS_EC2_METADATA_DISABLED=true",
			"AWS_ACCESS_KEY_ID=AKIA1", "AWS_SECRET_ACCESS_KEY=inherited")
	})
	defer stop()
	got := map[string]string{}
	for _, s := range f.awaitStarts(2) {
		got[s.parameters] = s.dir
	}
	if !strings.HasPrefix(got["ASIA-i-1"], "CredentialsEndpoint") ||
		!strings.HasPrefix(got["ASIA-i-2"], "SharedConfigCredentials") {
		t.Errorf("the keys are from %v", got)
	}
}

// userScript is a game server that writes to the file record what it is: its ids, those of its installer, what Linux
// reports of its rights, and its process. To the file stolen it writes what it finds in files and directories of the
// agent, and whether it may send signals to its supervisor.
const userScript = `#!/bin/sh
echo text >/dev/stdout; touch inside; cat ../credentials/credentials >keys
data=../../..
cat ../instance.json $data/machine.json $data/keys.json $(cat tree)/../ready.json >stolen 2>/dev/null
for dir in .. ../p ../credentials ../.. $data $data/b; do ls $dir; touch $dir/mine; done >>stolen 2>/dev/null
kill -0 $PPID 2>/dev/null && echo supervisor >>stolen
rights=$(grep -e Groups -e CapInh -e CapPrm -e CapEff -e CapAmb -e NoNewPrivs /proc/self/status | tr -d '\n\t ')
echo "$(id -u):$(id -g)|$(cat installed)|$rights|$$" >>record
exec sleep 1000
`

// userInstaller fails unless it finds the keys of the role.
const userInstaller = `#!/bin/sh
pwd >tree
grep -q ASIA-i-1 "$AWS_SHARED_CREDENTIALS_FILE" && echo "$(id -u):$(id -g)" >installed
`

// TestRunAs: game servers and installers run as another user without rights, in directories of their own; the files of
// the agent are not theirs. Only root can have them run so.
func TestRunAs(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(nobody.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		t.Fatal(uidErr, gidErr)
	}
	f := newFakeService(t)
	as := &supervisor.User{UID: uint32(uid), GID: uint32(gid)}
	if os.Geteuid() != 0 {
		m := &Instances{cfg: Config{Data: f.data, User: as}}
		if err := m.admit(); err == nil || !strings.Contains(err.Error(), "must be run by root") {
			t.Errorf("without being root: %v", err)
		}
		return
	}
	build := f.build("build-1", packed{name: "bin/game", content: userScript}, packed{name: "install.sh",
		content: userInstaller})
	in := instanceOf("i-1", build, process(1, ""))
	in.Role, in.RoleFile = "arn:role", true
	f.wantInstances(in)
	if err := os.WriteFile(filepath.Join(f.data, keyServerFile), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(c *Config) { c.User, c.Keep = as, true }
	stop := f.run(run)
	root := filepath.Join(f.data, "i", "i-1", "game-1")
	f.record = filepath.Join(root, "record")
	s := f.awaitStarts(1)[0]
	if ids := nobody.Uid + ":" + nobody.Gid; s.dir != ids || s.parameters != ids {
		t.Errorf("the game server runs as %s, and its installer as %s", s.dir, s.parameters)
	}
	const none = ":0000000000000000"
	const rights = "Groups:CapInh" + none + "CapPrm" + none + "CapEff" + none + "CapAmb" + none + "NoNewPrivs:1"
	if runtime.GOOS == "linux" && s.port != rights {
		t.Errorf("the game server has the rights %s, not %s", s.port, rights)
	}
	for name, want := range map[string]string{"keys": "ASIA-i-1", "inside": "", "stolen": ""} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !strings.Contains(string(text), want) || want == "" && len(text) > 0 {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	f.checkOwner(as, "i/i-1/game-1/bin/game", "i/i-1/credentials/credentials")
	dirs := []string{".", "b", "i", "i/i-1", "i/i-1/p", "i/i-1/credentials"}
	f.checkOwner(&supervisor.User{}, append(dirs, "i/i-1/instance.json", "machine.json", keyServerFile,
		"b/"+keyOf(build, in.Role)+"/"+readyFile)...)
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(f.data, dir, "mine")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the game server has made a file in %s: %v", dir, err)
		}
	}
	stop()
	if !alive(s.pid) {
		t.Error("the game server has ended with the agent")
	}
	f.run(run)
	f.awaitProcesses("i-1", 1)
	f.want(func(w *protocol.Wanted) { w.Instances[0].Ends = true })
	f.awaitStage("i-1", protocol.Ended)
	if alive(s.pid) {
		t.Error("the game server was not ended by the agent that has adopted it")
	}
}

// checkOwner checks that files of the machine are of a user, and that secrets are of it alone.
func (f *fakeService) checkOwner(u *supervisor.User, names ...string) {
	f.Helper()
	for _, name := range names {
		info, err := os.Stat(filepath.Join(f.data, name))
		if err != nil {
			f.Error(err)
			continue
		}
		of := info.Sys().(*syscall.Stat_t)
		if of.Uid != u.UID || of.Gid != u.GID || info.Mode().Perm()&0o066 != 0 && !strings.Contains(name, "bin") {
			f.Errorf("%s is of %d:%d with %v", name, of.Uid, of.Gid, info.Mode())
		}
	}
}

// TestRunAsUnreachable: a data directory that the user cannot reach is refused at once.
func TestRunAsUnreachable(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	m := &Instances{cfg: Config{Data: filepath.Join(closed, "m"), User: &supervisor.User{UID: 65533, GID: 65533}}}
	want := "choose a data directory"
	if os.Geteuid() != 0 { // which is found first
		want = "must be run by root"
	}
	if err := m.admit(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
