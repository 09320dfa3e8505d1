package objects_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/clients"
)

// TestCLI uses the commands of aws s3 that people know.
func TestCLI(t *testing.T) {
	schemes(t, func(t *testing.T, s *server, scheme string) {
		config := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(config, []byte("[default]\ns3 =\n  signature_version = s3v4\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cli := clients.AWSCLI(t, s.environ(scheme, "AWS_CONFIG_FILE="+config)) // else it presigns with version 2
		run := func(args ...string) string {
			t.Helper()
			out, err := cli.Run(append([]string{"s3"}, args...)...)
			if err != nil {
				t.Error(err)
			}
			return string(out)
		}
		run("mb", "s3://mine")
		for _, size := range []int{0, small, large} {
			data := content(size)
			path := file(t, data)
			run("cp", "--no-progress", path, "s3://"+bucket+"/dir/build.zip")
			s.expectBytes("dir/build.zip", data, "")
			back := filepath.Join(t.TempDir(), "back.zip")
			run("cp", "--no-progress", "s3://"+bucket+"/dir/build.zip", back)
			if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, data) {
				t.Errorf("copied back: %d bytes, %v", len(got), err)
			}
		}
		if got := run("ls", "s3://"+bucket); !strings.Contains(got, "PRE dir/") {
			t.Errorf("ls: %s", got)
		}
		if got := run("ls", "s3://"+bucket+"/dir/"); !strings.Contains(got, "20971520 build.zip") {
			t.Errorf("ls: %s", got)
		}
		if got := run("ls"); !strings.Contains(got, bucket) || !strings.Contains(got, "mine") {
			t.Errorf("ls: %s", got)
		}
		if status, _ := s.do(http.MethodGet, strings.TrimSpace(run("presign", "s3://"+bucket+"/dir/build.zip")),
			nil); status != http.StatusOK {
			t.Errorf("presigned: %d", status)
		}
		run("cp", "--no-progress", file(t, content(small)), "s3://mine/a")
		run("cp", "--no-progress", "s3://mine/a", "s3://mine/b")
		run("rm", "--recursive", "s3://mine")
		run("rb", "s3://mine")
		_, err := cli.Run("s3api", "get-bucket-versioning", "--bucket", bucket)
		if clients.Code(err) != "NotImplemented" {
			t.Errorf("versioning: %v", err)
		}
	})
}
