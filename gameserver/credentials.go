package gameserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"time"
)

const (
	getCredentials = "GetFleetRoleCredentials"
	// credentialsMargin is how long credentials must still be good to be used again. Source: server SDK 5, Go edition,
	// InstanceRoleCredentialTTL.
	credentialsMargin = 15 * time.Minute
	// maxRoleSessionName is the most characters of a role session's name.
	maxRoleSessionName = 64
)

// roleSessionName is what a role session may be called.
// Source: server SDK 5, Go edition, validation of GetFleetRoleCredentialsRequest.
var roleSessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

// FleetRoleCredentials are temporary credentials of the fleet's role, for calls to other services of AWS.
type FleetRoleCredentials struct {
	AssumedRoleUserARN, AssumedRoleID          string
	AccessKeyID, SecretAccessKey, SessionToken string
	Expiration                                 time.Time
}

// LogValue keeps the secrets out of the log.
func (c FleetRoleCredentials) LogValue() slog.Value {
	return slog.GroupValue(slog.String("role", c.AssumedRoleUserARN), slog.Time("expiration", c.Expiration))
}

// GetFleetRoleCredentials asks for credentials of the fleet's role. A roleSessionName of "" stands for "<fleet
// id>-<host id>", cut to 64 characters.
//
// Credentials that are good for another 15 minutes are given again without asking, by the role's name alone. A fleet
// without a role, as all Anywhere fleets are, has none: the error is ErrNoFleetRole, from then on also without asking.
// Source: server SDK 5, Go edition, GetFleetRoleCredentials.
func (s *Server) GetFleetRoleCredentials(ctx context.Context, roleARN,
	sessionName string) (FleetRoleCredentials, error) {
	if roleARN == "" {
		return FleetRoleCredentials{}, invalid(getCredentials, "the role's ARN must be given")
	}
	kept, sessionName, err := s.keptCredentials(roleARN, sessionName)
	if err != nil || kept.AccessKeyID != "" {
		return kept, err
	}
	if !roleSessionName.MatchString(sessionName) {
		return FleetRoleCredentials{}, invalid(getCredentials,
			"the role session name must be 2 to %d letters, digits and _+=,.@-", maxRoleSessionName)
	}
	data, err := s.call(ctx, getCredentials, requestLimit,
		struct{ RoleArn, RoleSessionName string }{roleARN, sessionName})
	if err != nil {
		return FleetRoleCredentials{}, err
	}
	c, err := decodeCredentials(data)
	if err != nil {
		return FleetRoleCredentials{}, err
	}
	return c, s.keepCredentials(roleARN, c)
}

// keptCredentials are those that can be used again, if there are any. Else it completes the name of the role session.
func (s *Server) keptCredentials(roleARN, sessionName string) (FleetRoleCredentials, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roleless {
		return FleetRoleCredentials{}, "", failed(getCredentials, ErrNoFleetRole)
	}
	if c, ok := s.credentials[roleARN]; ok && c.Expiration.Sub(s.clock.Now()) > credentialsMargin {
		return c, sessionName, nil
	}
	if sessionName == "" {
		sessionName = s.params.FleetID + "-" + s.params.HostID
		sessionName = sessionName[:min(len(sessionName), maxRoleSessionName)]
	}
	return FleetRoleCredentials{}, sessionName, nil
}

// keepCredentials notes what the service gave; an empty access key says that the fleet has no role.
func (s *Server) keepCredentials(roleARN string, c FleetRoleCredentials) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.AccessKeyID == "" {
		s.roleless = true
		return failed(getCredentials, ErrNoFleetRole)
	}
	if s.credentials == nil {
		s.credentials = make(map[string]FleetRoleCredentials)
	}
	s.credentials[roleARN] = c
	return nil
}

func decodeCredentials(data []byte) (FleetRoleCredentials, error) {
	var r struct {
		AssumedRoleUserArn, AssumedRoleId          string
		AccessKeyId, SecretAccessKey, SessionToken string
		Expiration                                 int64 // milliseconds since 1970
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return FleetRoleCredentials{}, failed(getCredentials, err)
	}
	return FleetRoleCredentials{
		AssumedRoleUserARN: r.AssumedRoleUserArn, AssumedRoleID: r.AssumedRoleId, AccessKeyID: r.AccessKeyId,
		SecretAccessKey: r.SecretAccessKey, SessionToken: r.SessionToken, Expiration: milliseconds(r.Expiration),
	}, nil
}
