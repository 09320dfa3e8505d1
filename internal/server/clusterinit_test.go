package server

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/listen/localca"
)

var prepared = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// tree is what a directory holds: modes and contents by path.
// A name that the settings accept can be that of a node in the cluster's subjects and keys.
func TestNodeNameIsThatOfTheCluster(t *testing.T) {
	if config.NodeName.String() != cluster.NameForm.String() {
		t.Errorf("settings accept %v, the cluster %v", config.NodeName, cluster.NameForm)
	}
}

func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		about, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = fmt.Sprintf("%v %s", about.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// prepare prepares nodes and checks which directories were written to.
func prepare(t *testing.T, out string, nodes []string, made ...string) {
	t.Helper()
	got, err := InitCluster(out, nodes, prepared)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, node := range made {
		want = append(want, filepath.Join(out, node))
	}
	if !slices.Equal(got, want) {
		t.Errorf("wrote to %v, want %v", got, want)
	}
}

func TestInitCluster(t *testing.T) {
	out := filepath.Join(t.TempDir(), "new", "cluster")
	prepare(t, out, []string{"n1", "n2"}, "n1", "n2")
	first := tree(t, out)
	if len(first) != 6 {
		t.Errorf("made %v", first)
	}
	for name, mode := range map[string]string{
		"region.secret": "-rw------- ", "tls/ca.key": "-rw------- ", "tls/ca.pem": "-rw-r--r-- ",
	} {
		one, two := first["n1/"+name], first["n2/"+name]
		if one != two || runtime.GOOS != "windows" && !strings.HasPrefix(one, mode) {
			t.Errorf("%s: %q and %q", name, one, two)
		}
	}
	if _, err := localca.Node(filepath.Join(out, "n2", "tls"), func() time.Time { return prepared }); err != nil {
		t.Error(err)
	}

	prepare(t, out, []string{"n1", "n2"})
	if err := os.MkdirAll(filepath.Join(out, "n2", journalDir), 0o700); err != nil { // it ran
		t.Fatal(err)
	}
	prepare(t, out, []string{"n4", "n2", "n3"}, "n4", "n3")
	all := tree(t, out)
	for name, content := range all {
		_, file, _ := strings.Cut(name, "/")
		if content != first["n1/"+file] {
			t.Errorf("%s is another one than the first", name)
		}
	}
	if len(all) != 12 {
		t.Errorf("there are %d files", len(all))
	}
}

// A call that was interrupted anywhere is repeated.
func TestInitClusterGoesOn(t *testing.T) {
	nodes := []string{"n1", "n2"}
	// In the order in which they are written.
	files := []string{"n1/region.secret", "n2/region.secret", "n1/tls/ca.key", "n1/tls/ca.pem", "n2/tls/ca.key",
		"n2/tls/ca.pem"}
	for written := range files {
		out := t.TempDir()
		prepare(t, out, nodes, nodes...)
		for _, file := range files[written:] {
			if err := os.Remove(filepath.Join(out, file)); err != nil {
				t.Fatal(err)
			}
		}
		before := tree(t, out)
		if _, err := InitCluster(out, nodes, prepared); err != nil {
			t.Fatal(err)
		}
		after := tree(t, out)
		for _, file := range []string{"region.secret", "tls/ca.key", "tls/ca.pem"} {
			if after["n1/"+file] == "" || after["n1/"+file] != after["n2/"+file] {
				t.Errorf("after %d files: the nodes differ in %s", written, file)
			}
		}
		for file, content := range before {
			if after[file] != content && file != "n1/tls/ca.key" { // a key without its certificate is nothing
				t.Errorf("after %d files: %s was changed", written, file)
			}
		}
	}
}

func TestInitClusterRefuses(t *testing.T) {
	type change func(out string) error
	remove := func(file string) change { return func(out string) error { return os.Remove(filepath.Join(out, file)) } }
	write := func(file, content string) change {
		return func(out string) error { return os.WriteFile(filepath.Join(out, file), []byte(content), 0o600) }
	}
	both := func(a, b change) change {
		return func(out string) error {
			if err := a(out); err != nil {
				return err
			}
			return b(out)
		}
	}
	anotherAuthority := func(out string) error {
		if err := os.RemoveAll(filepath.Join(out, "n2", "tls")); err != nil {
			return err
		}
		return localca.CreateCA(filepath.Join(out, "n2", "tls"), prepared)
	}
	journal := func(out string) error { return os.Mkdir(filepath.Join(out, "n2", journalDir), 0o700) }
	nothing := func(string) error { return nil }
	all := []string{"n1", "n2", "n3"}
	for name, c := range map[string]struct {
		change change
		nodes  []string
		want   []string
	}{
		"no node":              {nothing, nil, []string{"no nodes: name", "name each"}},
		"name with a dot":      {nothing, []string{"n3", "n.4"}, []string{`"n.4"`, "letters, digits"}},
		"name that leads away": {nothing, []string{"../n3"}, []string{`"../n3"`}},
		"no name":              {nothing, []string{""}, []string{`""`}},
		"long name":            {nothing, []string{strings.Repeat("n", 65)}, []string{"1 to 64"}},
		"twice":                {nothing, []string{"n3", "n4", "n3"}, []string{"node n3 is named twice"}},
		"new ones alone":       {nothing, []string{"n3"}, []string{"n1 belongs to an unnamed node", "name it too"}},
		"secrets differ": {write("n2/region.secret", strings.Repeat("x", 32)), all,
			[]string{"n1 and ", "n2 differ in region.secret", "move the wrong directory away"}},
		"authorities differ": {anotherAuthority, all, []string{"n1 and ", "n2 differ in ", "ca.key"}},
		"both differ": {both(write("n2/region.secret", strings.Repeat("x", 32)), anotherAuthority), all,
			[]string{"region.secret", "ca.key"}},
		"secret cut short": {write("n2/region.secret", "x"), all,
			[]string{"n2: region.secret has 1 bytes", "restore it"}},
		"key is gone":    {remove("n1/tls/ca.key"), all, []string{"n1", "ca.key", "copy"}},
		"key of another": {write("n2/tls/ca.key", "x"), all, []string{"n2", "copy"}},
		"secret is lost": {both(remove("n2/region.secret"), journal), all,
			[]string{"n2 has journal but no region.secret", "restore"}},
		"region is lost": {both(remove("n2/region.secret"), write("n2/region.json", "{}")), all,
			[]string{"n2 has region.json but no region.secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			prepare(t, out, []string{"n1", "n2"}, "n1", "n2")
			if err := write("notes.txt", "no directory")(out); err != nil {
				t.Fatal(err)
			}
			if err := c.change(out); err != nil {
				t.Fatal(err)
			}
			before := tree(t, out)
			made, err := InitCluster(out, c.nodes, prepared)
			for _, part := range c.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v, %v: no %q", made, err, part)
				}
			}
			if after := tree(t, out); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("it has made %v of %v", after, before)
			}
			if _, err := os.Stat(filepath.Join(out, "n3")); err == nil {
				t.Error("it has made a directory")
			}
		})
	}
}

// An authority that is about to end is given to nobody. Without it all get a new one.
func TestInitClusterRenewsTheAuthority(t *testing.T) {
	out := t.TempDir()
	prepare(t, out, []string{"n1", "n2"}, "n1", "n2")
	late := prepared.AddDate(10, 0, -30)
	if _, err := InitCluster(out, []string{"n1", "n3"}, late); err == nil ||
		!strings.Contains(err.Error(), "the CA expires at") {
		t.Errorf("near the end: %v", err)
	}
	before := tree(t, out)
	for _, node := range []string{"n1", "n2"} {
		if err := os.RemoveAll(filepath.Join(out, node, "tls")); err != nil {
			t.Fatal(err)
		}
	}
	prepare(t, out, []string{"n1", "n2", "n3"}, "n1", "n2", "n3")
	after := tree(t, out)
	if after["n3/region.secret"] != before["n1/region.secret"] || after["n3/tls/ca.key"] == before["n1/tls/ca.key"] ||
		after["n3/tls/ca.key"] != after["n1/tls/ca.key"] {
		t.Errorf("made %v of %v", after, before)
	}
}
