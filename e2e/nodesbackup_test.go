package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/muster-gg/muster"
)

// TestClusterBackupUnderLoad is TestBackupUnderLoad with three nodes: each call, and each
// backup, asks another one.
func TestClusterBackupUnderLoad(t *testing.T) {
	t.Parallel()
	backUpUnderLoad(t, startCluster(t), 20, 40)
}

// TestRestoreToCluster makes a cluster of the backup of a service alone, though the node that
// fills it is stopped once, and a service alone of the cluster's backup.
func TestRestoreToCluster(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t, home, "custom-east")
	p := s.launch(t, s.newCompute(t, fleet, home, "pc"), behaviour{})
	session := s.newActiveSession(t, fleet, home)
	report(t, "accept", p.AcceptPlayerSession(t.Context(), s.join(t, session, "ada")))
	before := s.everywhere(t, fleet)
	data := s.putObject(t)
	file := s.backup(t)
	s.stop()

	dir, names := filepath.Join(t.TempDir(), "cluster"), []string{"n1", "n2", "n3"}
	if _, err := muster.RestoreCluster(dir, names, openBackup(t, file), time.Now()); err != nil {
		t.Fatal(err)
	}
	alone := s.config
	alone.Data = filepath.Join(dir, "n1")
	if err := muster.Run(t.Context(), alone); err == nil || !strings.Contains(err.Error(), "to a node of a cluster") {
		t.Errorf("a node's directory, alone: %v", err)
	}
	nodes := newNodes(t, dir, names)
	others := []func(){nodes[1].begin(), nodes[2].begin()}
	nodes[0].stopWhen(t, "filling the region from the backup")
	nodes[0].run()
	for _, await := range others {
		await()
	}
	for _, n := range nodes {
		if after := n.everywhere(t, fleet); after != before || n.AccessKey != s.AccessKey {
			t.Errorf("before the backup\n%s\non node %s\n%s", before, n.config.Cluster.Node, after)
		}
		if got := n.getObject(t); !bytes.Equal(got, data) {
			t.Errorf("on node %s the object has %d other bytes", n.config.Cluster.Node, len(got))
		}
	}
	nodes[2].join(t, session, "bob")
	before = nodes[0].everywhere(t, fleet)
	file = nodes[1].backup(t)
	stopNodes(nodes)
	s.config.Data = restore(t, file)
	s.run()
	if after := s.everywhere(t, fleet); after != before {
		t.Errorf("in the cluster\n%s\nalone\n%s", before, after)
	}
	if got := s.getObject(t); !bytes.Equal(got, data) {
		t.Errorf("alone the object has %d other bytes", len(got))
	}
}

// putObject stores an object, whose bytes it returns.
func (s *service) putObject(t *testing.T) (data []byte) {
	t.Helper()
	client := s.objects(s.AccessKey, s.SecretKey, "")
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("games")}); err != nil {
		t.Fatal(err)
	}
	data = noise(600_000) // several messages between nodes
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("games"), Key: aws.String("map"),
		Body: bytes.NewReader(data)}); err != nil {
		t.Fatal(err)
	}
	return data
}

// getObject returns the bytes of the object of putObject.
func (s *service) getObject(t *testing.T) []byte {
	t.Helper()
	stored, err := s.objects(s.AccessKey, s.SecretKey, "").GetObject(t.Context(), &s3.GetObjectInput{
		Bucket: aws.String("games"), Key: aws.String("map")})
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(stored.Body)
	if err = errors.Join(err, stored.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

// everywhere is everything, but for the service's own address.
func (s *service) everywhere(t *testing.T, fleet string) string {
	return strings.ReplaceAll(s.everything(t, fleet), strings.TrimPrefix(s.HTTP, "http://"), "HOST")
}

// stopWhen runs the service until it says something that begins so in its log.
func (s *service) stopWhen(t *testing.T, begins string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := s.config
	var said sync.Once
	stop := func(line string) {
		if strings.HasPrefix(line, begins) {
			said.Do(cancel)
		}
	}
	config.Log = slog.New(&lineHandler{Handler: config.Log.Handler(), heard: stop})
	if err := muster.Run(ctx, config); ctx.Err() == nil {
		t.Fatalf("it has ended by itself: %v", err)
	}
}

// A lineHandler tells of each message that is logged.
type lineHandler struct {
	slog.Handler
	heard func(message string)
}

func (h *lineHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	h.heard(r.Message)
	return nil
}
