package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// BenchmarkVerify shows what it costs to verify a typical call beside what
// aws-sdk-go-v2 needs to sign it, and the hash of the body that neither
// includes.
func BenchmarkVerify(b *testing.B) {
	body := make([]byte, 1024)
	sum := sha256.Sum256(body)
	r := newRequest("http://localhost:9080/service/GameLift/operation/CreatePlayerSessions", body)
	r.Header.Set("Amz-Sdk-Invocation-Id", "3f0e6a1c-1111-4222-8333-444455556666")
	r.Header.Set("Amz-Sdk-Request", "attempt=1; max=3")
	sign(b, r, "AKIDLONG", "us-west-2", body, now)
	server := view(received(b, r))
	b.Run("verify", func(b *testing.B) {
		v := newVerifier()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Verify(server, sum, now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk sign", func(b *testing.B) {
		signer, cred, hash := v4.NewSigner(), credentials("AKIDLONG"), hex.EncodeToString(sum[:])
		b.ReportAllocs()
		for b.Loop() {
			err := signer.SignHTTP(b.Context(), cred, r, hash, "gamelift", "us-west-2", now.Add(time.Second))
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("hash body", func(b *testing.B) {
		for b.Loop() {
			sha256.Sum256(body)
		}
	})
}
