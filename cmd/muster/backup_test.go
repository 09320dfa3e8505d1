package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/mustertest"
)

// names lists a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// expect runs a command line, and looks for parts of what is printed.
func expect(t *testing.T, environ []string, status int, args []string, parts ...string) result {
	t.Helper()
	got := execute(t, environ, args...)
	if got.status != status {
		t.Errorf("%v: status %d: %s", args, got.status, got.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(got.stdout+got.stderr, part) {
			t.Errorf("%v: no %q in %s%s", args, part, got.stdout, got.stderr)
		}
	}
	return got
}

// taken are the files that takeBackup leaves.
var taken = []string{"region.backup", "region.backup.age", "region.backup.key"}

// takeBackup takes one of a service with three locations, and returns where its data was.
func takeBackup(t *testing.T, file string) (data string) {
	t.Helper()
	data = t.TempDir()
	t.Run("service", func(t *testing.T) {
		s := mustertest.Start(t, func(c *muster.Config) { c.Data, c.Shards = data, 2 })
		for i := range 3 {
			mustertest.Call(t, s.Client.CreateLocation,
				&gamelift.CreateLocationInput{LocationName: new(fmt.Sprint("custom-", i))})
		}
		environ := []string{"AWS_ENDPOINT_URL=" + s.HTTP, "AWS_ACCESS_KEY_ID=" + s.AccessKey,
			"AWS_SECRET_ACCESS_KEY=" + s.SecretKey, "AWS_REGION=" + s.Region}
		expect(t, environ, exitOK, []string{"backup", file},
			file+" contains region us-west-2 of account 111122223333 at ", "2 shards")
		expect(t, environ, exitFailure, []string{"backup", file}, "exists: name a new file")
		takeEncrypted(t, environ, file)
		withProfile := []string{"AWS_CONFIG_FILE=" + writeFile(t, "config", "[profile ops]\nregion = "+s.Region+
			"\nservices = muster\n[services muster]\ngamelift =\n  endpoint_url = "+s.HTTP+"\n"),
			"AWS_SHARED_CREDENTIALS_FILE=" + writeFile(t, "credentials", "[ops]\naws_access_key_id = "+s.AccessKey+
				"\naws_secret_access_key = "+s.SecretKey+"\n")}
		expect(t, append(withProfile, "AWS_ACCESS_KEY_ID=other", "AWS_SECRET_ACCESS_KEY=other"), exitOK,
			[]string{"backup", "--profile", "ops", filepath.Join(t.TempDir(), "flag")}, "2 shards")
		expect(t, append(withProfile, "AWS_PROFILE=ops"), exitOK,
			[]string{"backup", filepath.Join(t.TempDir(), "environment")}, "2 shards")
		expect(t, withProfile, exitMisuse, []string{"backup", "--profile", "none", file + ".2"}, "has no profile none")
		expect(t, environ, exitFailure, []string{"backup", file + ".2", "--secret-key", "wrong"},
			"InvalidSignatureException")
		expect(t, environ, exitFailure, []string{"inspect", "--data", data}, "a service runs on this data directory")
	})
	return data
}

func TestBackupRestoreInspect(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "region.backup")
	data := takeBackup(t, file)
	if got := names(t, dir); !slices.Equal(got, taken) {
		t.Fatalf("there are %v", got)
	}
	if about, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && about.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", about.Mode(), err)
	}
	restored := filepath.Join(t.TempDir(), "new", "data")
	expect(t, nil, exitOK, []string{"restore", "--data", restored, file}, "2 shards",
		"muster serve --data "+restored+" --region us-west-2 --account 111122223333 --shards 2")
	if got := names(t, filepath.Dir(restored)); !slices.Equal(got, []string{"data"}) {
		t.Errorf("there are %v", got)
	}
	for _, name := range []string{
		"region.json", "region.secret", filepath.Join("tls", "ca.pem"), filepath.Join("tls", "ca.key"),
	} {
		sameFile(t, filepath.Join(restored, name), filepath.Join(data, name))
	}
	expect(t, nil, exitFailure, []string{"restore", "--data", restored, file}, "is not empty")
	initFromBackup(t, file, data)
	restoreEncrypted(t, file, data)
	for _, from := range [][]string{{"--backup", file}, {"--data", restored}} {
		inspectAll(t, append([]string{"inspect"}, from...))
	}
	expect(t, nil, exitOK, []string{"inspect", "--data", data, "--shard", "0", "--at", "end"}, "Location  catalog",
		"custom-2")
}

// takeEncrypted takes file.age, to two recipients, and the identity of one of them as file.key.
func takeEncrypted(t *testing.T, environ []string, file string) {
	t.Helper()
	one, other := newIdentity(t), newIdentity(t)
	if err := os.WriteFile(file+".key", []byte("# of the backups\n"+one.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	recipients := writeFile(t, "recipients", "# of the backups\n\n"+one.Recipient().String()+"\n")
	expect(t, environ, exitOK, []string{"backup", file + ".age", "--encrypt-to", other.Recipient().String(),
		"--encrypt-to-file", recipients}, "2 shards", " bytes, encrypted to 2 recipients.")
	for _, test := range []struct{ flag, value, part string }{
		{"--encrypt-to", one.String(), "--encrypt-to must be an age recipient, age1…"},
		{"--encrypt-to-file", file + ".key", "--encrypt-to-file " + file + ".key: error at line 2"},
		{"--encrypt-to-file", file + ".none", "--encrypt-to-file "},
	} {
		got := expect(t, environ, exitMisuse, []string{"backup", file + ".2", test.flag, test.value}, test.part)
		if strings.Contains(got.stderr, "AGE-SECRET-KEY") {
			t.Errorf("%s prints a secret key: %s", test.flag, got.stderr)
		}
	}
}

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// restoreEncrypted reads file.age, of the service that had this data, with file.key.
func restoreEncrypted(t *testing.T, file, data string) {
	t.Helper()
	key := []string{"--identity", file + ".key"}
	restored, cluster := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "cluster")
	restore := []string{"restore", "--data", restored, file + ".age"}
	expect(t, nil, exitFailure, restore, file+".age: the backup is encrypted: ", "with --identity")
	if _, err := os.Lstat(restored); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
	expect(t, nil, exitOK, append(restore, key...), "2 shards")
	sameFile(t, filepath.Join(restored, "region.secret"), filepath.Join(data, "region.secret"))
	begin := []string{"cluster", "init", "--out", cluster, "--backup", file + ".age", "n1"}
	expect(t, nil, exitOK, append(begin, key...), "n1 fills")
	sameFile(t, filepath.Join(cluster, "n1", "region.secret"), filepath.Join(data, "region.secret"))
	expect(t, nil, exitOK, append([]string{"inspect", "--backup", file + ".age", "--shard", "0"}, key...), "custom-2")
}

// TestBackupWithBuilds: a build of the restored region has the same bytes, from which fleets start on a machine that
// was connected before, and without them is FAILED.
func TestBackupWithBuilds(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "server"), []byte("code"), 0o600); err != nil {
		t.Fatal(err)
	}
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	var build string
	var box *downloader
	var before []byte
	t.Run("service", func(st *testing.T) {
		s := mustertest.Start(st, func(c *muster.Config) { c.Shards = 2 })
		environ := rootEnviron(s)
		build = strings.TrimSpace(expect(st, environ, exitOK, []string{"push", root}).stdout)
		managedFleet(s, build)
		token := expect(st, environ, exitOK, []string{"machine", "token", "create", "--location", s.Region}).stdout
		box = newDownloader(t, s.HTTP, strings.TrimSpace(token))
		before = box.download(st, 1)
		expect(st, environ, exitOK, []string{"backup", "--with-builds", with}, "1 file of builds and objects with ")
		expect(st, environ, exitOK, []string{"backup", without}, "of the event feed), ")
		known := box.Wanted().Generation
		for _, verb := range []string{"drain", "undrain", "drain", "undrain"} { // changes that are not in the backup
			expect(st, environ, exitOK, []string{"machine", verb, "box"})
		}
		box.await(st, "the changes", func(w protocol.Wanted) bool { return w.Generation >= known+4 && !w.Drain })
	})
	for file, want := range map[string]string{with: `"status":"READY"`, without: `"status":"FAILED"`} {
		data := file + ".data"
		expect(t, nil, exitOK, []string{"restore", "--data", data, file}, "2 shards")
		t.Run("restored", func(t *testing.T) {
			s := mustertest.Start(t, func(c *muster.Config) {
				c.Data, c.Shards = data, 2
				if file == with {
					c.Listen = strings.TrimPrefix(box.service, "http://")
				}
			})
			expect(t, rootEnviron(s), exitOK, []string{"get", "builds", build, "--json"}, want)
			if file == without {
				return
			}
			managedFleet(s, build) // beside the fleet of the backup
			if after := box.download(t, 2); !bytes.Equal(after, before) {
				t.Errorf("the restored fleet has other bytes: %d instead of %d", len(after), len(before))
			}
		})
	}
	expect(t, nil, exitOK, []string{"inspect", "--backup", with}, "us-west-2")
}

// managedFleet creates an EC2-type fleet of a build.
func managedFleet(s *mustertest.Service, build string) {
	s.Helper()
	mustertest.Call(s, s.Client.CreateFleet, &gamelift.CreateFleetInput{Name: aws.String("fleet"),
		BuildId: &build, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{
			LaunchPath: aws.String("/local/game/server"), ConcurrentExecutions: aws.Int32(1)}}}})
}

// A downloader is a machine that runs nothing: it downloads the builds of its instances. It stays connected to the
// services at an address.
type downloader struct {
	*machine.Machine
	service string // URL
	clock   *clockwork.FakeClock
}

// newDownloader runs a machine until the end of a test.
func newDownloader(t *testing.T, service, token string) *downloader {
	t.Helper()
	d := &downloader{service: service, clock: clockwork.NewFakeClock()}
	var err error
	d.Machine, err = machine.Open(machine.Config{Service: service, Name: "box", Data: t.TempDir(), Clock: d.clock,
		Log: slog.New(slog.DiscardHandler), Token: func() (string, error) { return token, nil },
		Offer: protocol.Offer{MilliCPUs: 8000, MemoryMiB: 64 << 10, IP: "127.0.0.1", OS: "linux", Arch: "amd64"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

// await waits until the wanted state fulfils a condition, while the time of the machine passes.
func (d *downloader) await(t *testing.T, what string, holds func(protocol.Wanted) bool) {
	t.Helper()
	mustertest.Eventually(t, what, func() bool {
		d.clock.Advance(time.Second)
		return holds(d.Wanted())
	})
}

// download waits until a number of fleets has an instance, and returns the bytes of their build, which must be the
// same.
func (d *downloader) download(t *testing.T, fleets int) (data []byte) {
	t.Helper()
	of := map[string]protocol.Instance{}
	d.await(t, "the instances", func(w protocol.Wanted) bool {
		clear(of)
		for _, i := range w.Instances {
			if !i.Ends {
				of[i.Fleet] = i
			}
		}
		return len(of) == fleets
	})
	for _, i := range of {
		answer, err := http.Get(d.service + i.Build.Path) //nolint:gosec // of the test's service
		if err != nil {
			t.Fatal(err)
		}
		data, err = io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("download: %s, %v", answer.Status, err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != i.Build.SHA256 {
			t.Errorf("instance %s gets other bytes than it is announced", i.ID)
		}
	}
	return data
}

// initFromBackup prepares a cluster that is to begin with a backup of the service that had this data.
func initFromBackup(t *testing.T, file, data string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "new", "cluster")
	args := []string{"cluster", "init", "--out", out, "--backup", file, "n1", "n2", "n3"}
	made := expect(t, nil, exitOK, args, "n1 contains region us-west-2 of account 111122223333",
		"--region us-west-2 --account 111122223333", "n1 fills the region")
	want := filepath.Join(out, "n1") + "\n" + filepath.Join(out, "n2") + "\n" + filepath.Join(out, "n3") + "\n"
	if made.stdout != want {
		t.Errorf("made %s", made.stdout)
	}
	if got := names(t, filepath.Dir(out)); !slices.Equal(got, []string{"cluster"}) {
		t.Errorf("there are %v", got)
	}
	if got, want := names(t, filepath.Join(out, "n1")), []string{
		"aws-profile", "region.json", "region.secret", "restore.backup", "tls",
	}; !slices.Equal(got, want) && !slices.Equal(got, want[1:]) {
		t.Errorf("the first node has %v", got)
	}
	if got := names(t, filepath.Join(out, "n3")); !slices.Equal(got, []string{"region.json", "region.secret", "tls"}) {
		t.Errorf("another node has %v", got)
	}
	sameFile(t, filepath.Join(out, "n1", "restore.backup"), file)
	for _, node := range []string{"n1", "n2", "n3"} {
		sameFile(t, filepath.Join(out, node, "region.json"), filepath.Join(out, "n1", "region.json"))
		for _, name := range []string{"region.secret", filepath.Join("tls", "ca.pem"), filepath.Join("tls", "ca.key")} {
			sameFile(t, filepath.Join(out, node, name), filepath.Join(data, name))
		}
	}
	expect(t, nil, exitFailure, args, "is not empty")
	expect(t, nil, exitFailure, []string{"cluster", "init", "--out", out + "2", "--backup", file, "n1", "n1"},
		"named twice")
}

// sameFile compares two files.
func sameFile(t *testing.T, one, other string) {
	t.Helper()
	is, err1 := os.ReadFile(one)
	want, err2 := os.ReadFile(other)
	if err1 != nil || err2 != nil || string(is) != string(want) {
		t.Errorf("%s and %s differ: %v, %v", one, other, err1, err2)
	}
}

// inspectAll asks for lists, events and states.
func inspectAll(t *testing.T, inspect []string) {
	t.Helper()
	with := func(args ...string) []string { return append(slices.Clone(inspect), args...) }
	expect(t, nil, exitOK, with(), "region us-west-2, account 111122223333", "SHARD", "0..")
	list := expect(t, nil, exitOK, with("--json"))
	var shard struct{ LastEvent uint64 }
	if err := json.NewDecoder(strings.NewReader(list.stdout)).Decode(&shard); err != nil || shard.LastEvent < 5 ||
		strings.Count(list.stdout, "\n") != 2 {
		t.Fatalf("%v: %s", err, list.stdout)
	}
	expect(t, nil, exitOK, with("--history"))
	expect(t, nil, exitMisuse, with("--history", "--shard", "0"), "--history is that of all shards")
	last := fmt.Sprint(shard.LastEvent)
	all := expect(t, nil, exitOK, with("--shard", "0"), "1  2", "owner ", "AccessKeyPut  catalog", `"Name":"custom-0"`,
		"custom-2")
	events := expect(t, nil, exitOK, with("--shard", "0", "--events", "1..", "--json"), `"seq":1,`, `"seq":`+last+`,`)
	seqs := 0
	var created uint64 // the record of the second location
	for line := range strings.Lines(events.stdout) {
		var r struct {
			Seq    uint64
			Events []struct{ Type, In string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Seq != uint64(seqs+1) {
			t.Fatalf("%s: %v", line, err)
		}
		if seqs++; strings.Contains(line, "custom-1") {
			created = r.Seq
		}
	}
	if fmt.Sprint(seqs) != last || created == 0 {
		t.Errorf("%d records of %s: %s", seqs, last, all.stdout)
	}
	at := func(seq uint64) string {
		return expect(t, nil, exitOK, with("--shard", "0", "--at", fmt.Sprint(seq)),
			fmt.Sprintf("shard 0 after record %d: ", seq)).stdout
	}
	if before, after := at(created-1), at(created); strings.Contains(before, "custom-1") ||
		!strings.Contains(after, "custom-1") || strings.Contains(after, "custom-2") {
		t.Errorf("before record %d:\n%s\nand after it:\n%s", created, before, after)
	}
	at(0)
	expect(t, nil, exitOK, with("--shard", "0", "--at", "end", "--json"), `"type":"`, `"custom-2"`)
	one := expect(t, nil, exitOK, with("--shard", "0", "--events", fmt.Sprint(created)), "custom-1")
	if strings.Contains(one.stdout, "custom-0") {
		t.Errorf("one record: %s", one.stdout)
	}
	expect(t, nil, exitFailure, with("--shard", "0", "--events", "1..1000000"), "1.."+last+" are held")
	expect(t, nil, exitFailure, with("--shard", "0", "--at", "1000000"), "has come to record "+last)
	expect(t, nil, exitMisuse, with("--shard", "2"), "must be 0 to 1")
	expect(t, nil, exitMisuse, with("--shard", "0", "--at", "1", "--events", "1"), "cannot be combined")
	expect(t, nil, exitMisuse, with("--at", "1"), "require --shard")
	expect(t, nil, exitMisuse, with("--shard", "0", "--at", "now"), "number of a record")
	expect(t, nil, exitMisuse, with("--shard", "0", "--events", "1..x"), "number of a record")
}

// TestDamagedBackup writes nothing, whatever is wrong, and names it.
func TestDamagedBackup(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "region.backup")
	takeBackup(t, file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var damaged []byte
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(damaged)
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=s",
		"AWS_REGION=r"}
	flip := func(at int) []byte {
		data := slices.Clone(whole)
		data[at] ^= 0x40
		return data
	}
	target, recipient := filepath.Join(t.TempDir(), "data"), newIdentity(t).Recipient().String()
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":   {nil, "not a backup"},
		"another":   {[]byte("PK\x03\x04 and so on, for some time"), "not a backup"},
		"beginning": {whole[:100], "damaged"}, "half": {whole[:len(whole)/2], "damaged"},
		"all but the end": {whole[:len(whole)-1], "damaged"},
		"first bytes":     {flip(40), "damaged"}, "middle": {flip(len(whole) / 2), "damaged"},
		"last bytes": {flip(len(whole) - 3), "damaged"},
		"behind":     {append(slices.Clone(whole), 1), "damaged"},
	} {
		damaged = c.data
		if err := os.WriteFile(file, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, nil, exitFailure, []string{"restore", "--data", target, file}, c.want, file)
		expect(t, nil, exitFailure, []string{"cluster", "init", "--out", target, "--backup", file, "n1"}, c.want, file)
		expect(t, nil, exitFailure, []string{"inspect", "--backup", file}, c.want, file)
		expect(t, environ, exitFailure, []string{"backup", file + ".2"}, c.want)
		expect(t, environ, exitFailure, []string{"backup", file + ".2", "--encrypt-to", recipient}, c.want)
		if got := names(t, filepath.Dir(target)); len(got) > 0 {
			t.Errorf("%s: restore has left %v", name, got)
		}
		if got := names(t, dir); !slices.Equal(got, taken) {
			t.Errorf("%s: backup has left %v", name, got)
		}
	}
}

func TestBackupMisuse(t *testing.T) {
	expect(t, nil, exitMisuse, []string{"backup"}, "an argument is missing")
	expect(t, nil, exitMisuse, []string{"backup", "f"}, "no endpoint: set")
	expect(t, nil, exitMisuse, []string{"restore", "f"}, "--data is missing")
	expect(t, nil, exitMisuse, []string{"inspect"}, "one of --data and --backup")
	expect(t, nil, exitFailure, []string{"restore", "--data", filepath.Join(t.TempDir(), "d"), "absent.backup"},
		"absent.backup")
	expect(t, nil, exitFailure, []string{"inspect", "--backup", "absent.backup"}, "absent.backup")
	expect(t, nil, exitFailure, []string{"inspect", "--data", t.TempDir()}, "is no data directory")
}

// TestPlainTextIsNamed warns of a secret that others may read.
func TestPlainTextIsNamed(t *testing.T) {
	for address, want := range map[string]bool{
		"http://games.example.com:9080": true, "http://192.0.2.1": true, "https://games.example.com": false,
		"http://localhost:9080": false, "http://127.0.0.1:9080": false, "http://[::1]:9080": false,
	} {
		if got := (&operatorCall{service: address}).unencrypted(); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
