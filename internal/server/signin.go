package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/access/hasher"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/signin"
	"github.com/muster-gg/muster/internal/signin/query"
)

// openAudit opens what signing in keeps outside the journals: the audit trail, pending grants, and the last uses of
// access keys.
func (s *service) openAudit(ctx context.Context) error {
	feed, err := s.engine.Audit(ctx, jetstream.AuditLimits{
		Age: s.cfg.AuditRetention, Bytes: int64(s.cfg.MaxAuditSize) << 20,
	})
	if err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	s.trail = audit.New(audit.Config{Feed: feed, Clock: s.cfg.Clock, Log: s.cfg.Log, Dropped: s.metrics.AuditDropped})
	if s.grants, err = s.engine.Grants(ctx); err != nil {
		return fmt.Errorf("pending grants: %w", err)
	}
	if s.codes, err = s.engine.Codes(ctx); err != nil {
		return fmt.Errorf("authorization codes: %w", err)
	}
	if s.keyUses, err = s.engine.KeyUses(ctx); err != nil {
		return fmt.Errorf("uses of access keys: %w", err)
	}
	s.tokens = idp.NewVerifier(s.cfg.Clock, nil, s.cfg.Log)
	return nil
}

func lifetimes(c *config.Config) access.Lifetimes {
	return access.Lifetimes{SignIn: c.SignIn, Console: c.ConsoleSignIn}
}

// argon2id starts processes that hash passwords, if there is a program for them.
func (s *service) argon2id() access.Argon2id {
	if len(s.cfg.PasswordHasher) == 0 {
		return nil
	}
	pool := hasher.New(s.cfg.PasswordHasher, s.cfg.Clock, s.cfg.Log)
	s.opened.add(pool.Close)
	return pool.Argon2id
}

// openSignIn opens the endpoints of signing in, and of STS and IAM.
func (s *service) openSignIn(context.Context) (err error) {
	ca := ""
	if s.caFile != "" {
		text, err := os.ReadFile(s.caFile)
		if err != nil {
			return err
		}
		ca = string(text)
	}
	s.signin, err = signin.New(signin.Config{
		Access: s.plane, Grants: s.grants, Codes: s.codes, IdP: s.tokens,
		PublicURL: publicPages(s.cfg.PublicURL), URL: s.pagesURL(),
		Region: s.cfg.Region, RegionID: regionID(s.secret), Account: s.cfg.Account, AccountName: s.cfg.Region, CA: ca,
		Insecure: s.cfg.InsecureSignIn == config.On, Ready: s.awaitReady, Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	if err != nil {
		return err
	}
	s.query = query.New(query.Config{
		Access: s.plane, Skew: s.cfg.ClockSkew, Ready: s.awaitReady, Admit: s.signin.Admit, Observe: s.metrics.Call,
		Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	return nil
}

// publicPages returns the URL of pages for that of game servers.
func publicPages(webSocket string) string {
	if rest, ok := strings.CutPrefix(webSocket, "wss:"); ok {
		return "https:" + rest
	}
	if rest, ok := strings.CutPrefix(webSocket, "ws:"); ok {
		return "http:" + rest
	}
	return webSocket
}

// pagesURL returns the URL of pages of this listener. On a loopback address it is unencrypted, so that browsers do not
// warn about the certificate of the local CA.
func (s *service) pagesURL() string {
	host := dialable(s.listener.Addr())
	u := url.URL{Scheme: "https", Host: host}
	name, _, _ := net.SplitHostPort(host)
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() && s.cfg.Plaintext != "refuse" {
		u.Scheme = "http"
	}
	return u.String()
}

// regionID returns what tells a region from all others, as 16 hexadecimal digits.
func regionID(secret []byte) string {
	sum := sha256.Sum256(append([]byte("muster region id "), secret...))
	return hex.EncodeToString(sum[:8])
}
