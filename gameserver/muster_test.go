package gameserver_test

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/mustertest"
)

// TestSignedProcessKeepsItsURL has a process sign in with an access key over ws://,
// without the certificate of the service. It gets a token and moves where it is, once.
func TestSignedProcessKeepsItsURL(t *testing.T) {
	s := mustertest.Start(t)
	p := s.Compute(s.Fleet("custom-home"), "custom-home", "host-1")
	p.AuthToken, p.Region, p.AccessKey, p.SecretKey = "", s.Region, s.AccessKey, s.SecretKey
	refreshes := make(chan string, 64)
	server := gameserver.New(gameserver.Config{
		Getenv: func(string) string { return "" },
		Trace: func(m gameserver.Message) {
			if strings.Contains(m.Text, "RefreshConnection") {
				refreshes <- m.Text
			}
		},
	})
	t.Cleanup(func() { server.Close(); server.Wait() })
	if err := server.Connect(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := server.ProcessReady(t.Context(), gameserver.ProcessParameters{
		Port: 7777, OnStartGameSession: func(gameserver.GameSession) {}, OnProcessTerminate: func() {},
	}); err != nil {
		t.Fatal(err)
	}
	if text := <-refreshes; !strings.Contains(text, `"RefreshConnectionEndpoint":"`+p.WebSocketURL+`"`) {
		t.Errorf("connected to %s and was sent elsewhere: %s", p.WebSocketURL, text)
	}
	// The old socket is closed when the new one is in use; a report of health came in between.
	mustertest.Eventually(t, "the process has moved", func() bool {
		_, err := server.GetComputeCertificate(t.Context())
		return err == nil
	})
	if len(refreshes) > 0 {
		t.Errorf("the push came again: %s", <-refreshes)
	}
}
