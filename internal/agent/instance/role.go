package instance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

const (
	// credentialsName is the name of the directory of an instance with the keys of its role, and of the file in it.
	credentialsName = "credentials"
	// roleProfile is the profile of the keys. Source: GameLift developer guide, shared credentials of fleets.
	roleProfile = "FleetRoleCredentials"

	// keysLimit is how long game servers and installers wait for the first keys.
	keysLimit = 15 * time.Second
	// keysUsed is the part of their life after which keys are replaced, in quarters: SDKs use keys until a few minutes
	// before their end.
	keysUsed = 3
	// firstKeys and lastKeys are the times between attempts to get keys.
	firstKeys, lastKeys = time.Second, time.Minute
)

// roleKeys are the keys of an instance's role. They are renewed from their first use on, by one goroutine.
type roleKeys struct {
	*protocol.RoleKeys // nil: there are none
	renewal            time.Time

	begin    sync.Once
	renewing sync.WaitGroup
	has      chan struct{} // closed when there are the first ones
}

// credentials are the variables by which AWS SDKs find keys. Programs of instances get none of the agent's.
var credentials = []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
	"AWS_DEFAULT_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"}

// withheld reports whether programs do not get a variable of the agent: a credential, or a setting of Muster, which may
// be a secret.
func withheld(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains(credentials, name) || strings.HasPrefix(name, "MUSTER_") && name != "MUSTER_CA_FILE"
}

// role returns the variables of the programs of an instance, "game servers" or "installers": with a role, those by
// which AWS SDKs find its keys. Then it waits for the first keys, at most keysLimit or until ctx is done; keyed is
// false if there are none. Keys are renewed until forgetKeys is called.
func (i *instance) role(ctx context.Context, w protocol.Instance, programs string) (environ []string, keyed bool) {
	environ = slices.DeleteFunc(slices.Clone(i.m.cfg.Environ), withheld)
	if w.Role == "" {
		return environ, true
	}
	own, err := i.roleEnviron(w.RoleFile)
	if err != nil {
		i.log().Error("programs of an instance get no keys of its role", "programs", programs, "error", err)
		return environ, false
	}
	i.keys.begin.Do(func() { i.keys.renewing.Go(func() { i.renewKeys(i.serving, w.RoleFile) }) })
	limit := i.m.cfg.Clock.NewTimer(keysLimit)
	defer limit.Stop()
	select {
	case <-i.keys.has:
		keyed = true
	case <-limit.Chan():
		i.log().Warn("programs of an instance start without keys of its role", "programs", programs)
	case <-i.quits:
	case <-ctx.Done():
	}
	return append(environ, own...), keyed
}

// forgetKeys ends the renewal of keys. The game servers must have been given up, and role is not called any more.
func (i *instance) forgetKeys() {
	i.giveUp()
	i.keys.renewing.Wait()
}

// roleEnviron returns the variables by which AWS SDKs find the keys of the role.
func (i *instance) roleEnviron(file bool) ([]string, error) {
	if file {
		return []string{"AWS_SHARED_CREDENTIALS_FILE=" + i.keysPath()}, nil
	}
	url, token, err := i.m.servedKeys(i.id)
	return []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + url, "AWS_CONTAINER_AUTHORIZATION_TOKEN=" + token}, err
}

func (i *instance) keysPath() string { return filepath.Join(i.dir, credentialsName, credentialsName) }

// renewKeys gets keys, and others before these expire, until ctx is done.
func (i *instance) renewKeys(ctx context.Context, file bool) {
	pause, first := firstKeys, sync.OnceFunc(func() { close(i.keys.has) })
	for {
		var wait time.Duration
		if err := i.fetchKeys(ctx, file); err != nil {
			if ctx.Err() != nil {
				return
			}
			i.log().Warn("keys of an instance's role not issued", "error", err, "next_try", pause)
			wait, pause = pause, min(2*pause, lastKeys)
		} else {
			first()
			pause = firstKeys
			i.m.mu.Lock()
			wait = max(i.keys.renewal.Sub(i.m.cfg.Clock.Now()), lastKeys)
			i.m.mu.Unlock()
		}
		select {
		case <-i.m.cfg.Clock.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// fetchKeys gets keys, and has the programs of the instance find them.
func (i *instance) fetchKeys(ctx context.Context, file bool) error {
	k, err := i.m.tokens.RoleKeys(ctx, i.id)
	if err != nil {
		return err
	}
	if file {
		err = errors.Join(i.m.makeDir(i.dir), i.m.makeDir(filepath.Dir(i.keysPath()))) // both new for an installer
		if err == nil {
			err = i.m.writeFile(i.keysPath(), keysFile(&k))
		}
		if err != nil {
			return err
		}
	}
	now := i.m.cfg.Clock.Now()
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	i.keys.RoleKeys, i.keys.renewal = &k, now.Add(time.UnixMilli(k.Expires).Sub(now)/4*keysUsed)
	return nil
}

// keysFile returns a shared credentials file with keys: in the profile that GameLift's fleets have, and in the one that
// SDKs use without a choice.
func keysFile(k *protocol.RoleKeys) []byte {
	var text strings.Builder
	for _, profile := range []string{"default", roleProfile} {
		fmt.Fprintf(&text, "[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s\n",
			profile, k.AccessKeyID, k.SecretAccessKey, k.SessionToken)
	}
	return []byte(text.String())
}
