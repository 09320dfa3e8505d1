package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Record is one entry of the audit trail: a call, a sign-in, a refusal. The names in JSON are those of CloudTrail
// where it has the field. Source: CloudTrail user guide, "CloudTrail record contents".
//
// A record contains no secrets: whoever fills it passes no passwords, tokens, codes, secret keys or their hashes.
type Record struct {
	Time      time.Time `json:"eventTime"`   // zero: when it was recorded; kept to the millisecond
	ID        string    `json:"eventID"`     // "": a random UUID
	Name      string    `json:"eventName"`   // CreateFleet, SignIn, RefreshReplayed, PutUser
	Source    string    `json:"eventSource"` // gamelift.amazonaws.com, sso.amazonaws.com, muster
	Type      string    `json:"eventType"`   // AwsApiCall, AwsConsoleSignIn, MusterCall
	Region    string    `json:"awsRegion"`
	Account   string    `json:"recipientAccountId,omitempty"`
	Address   string    `json:"sourceIPAddress"` // of the client, without its port
	UserAgent string    `json:"userAgent,omitempty"`
	Identity  Identity  `json:"userIdentity"`
	RequestID string    `json:"requestID,omitempty"`
	ReadOnly  bool      `json:"readOnly"`

	ErrorCode    string `json:"errorCode,omitempty"` // of a failure; only failures are counted together
	ErrorMessage string `json:"errorMessage,omitempty"`

	Resources ARNs              `json:"resources,omitempty"`         // not changed any more by the caller
	Details   map[string]string `json:"requestParameters,omitempty"` // not changed any more by the caller
	Decision  Decision          `json:"decision,omitzero"`           // of the policies, which CloudTrail does not have

	// Count is for how many calls this record stands: 0 for one. Callers leave it 0.
	Count int `json:"count,omitempty"`
}

// An Identity is who did it. Empty fields are unknown, or do not apply.
type Identity struct {
	Type        string `json:"type"` // IAMUser, AssumedRole, Root, WebIdentityUser, Unknown
	PrincipalID string `json:"principalId,omitempty"`
	Arn         string `json:"arn,omitempty"`
	Account     string `json:"accountId,omitempty"`
	AccessKey   string `json:"accessKeyId,omitempty"` // the id, never the secret
	User        string `json:"userName,omitempty"`
	Session     `json:"sessionContext,omitzero"`
}

// A Session is what the temporary credentials of an identity come from.
type Session struct {
	SourceIdentity string `json:"sourceIdentity,omitempty"` // the user behind the role
	SignIn         string `json:"sessionId,omitempty"`      // the session of that user
	Role           string `json:"role,omitempty"`
}

// A Decision is what the policies decided, by which statement. It is missing if no policy was asked, and if none
// applied.
type Decision struct {
	Allowed   bool   `json:"allowed"`
	Policy    string `json:"policy,omitempty"`
	Statement string `json:"statement,omitempty"`
}

// ARNs names resources. In JSON, each is an object with an ARN.
type ARNs []string

// MarshalJSON encodes CloudTrail's list of resources.
func (a ARNs) MarshalJSON() ([]byte, error) { return a.appendTo(nil), nil }

// UnmarshalJSON decodes it.
func (a *ARNs) UnmarshalJSON(text []byte) error {
	var list []struct {
		ARN string `json:"ARN"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*a = nil
	for _, r := range list {
		*a = append(*a, r.ARN)
	}
	return nil
}

// Limits of a record, which bound what unauthenticated clients can make the service keep.
const (
	maxText = 1024 // bytes of each text
	maxList = 100  // resources, and details
)

// clip shortens long texts in place.
func (r *Record) clip() {
	for _, text := range []*string{
		&r.ID, &r.Name, &r.Source, &r.Type, &r.Region, &r.Account, &r.Address, &r.UserAgent, &r.RequestID, &r.ErrorCode,
		&r.ErrorMessage, &r.Identity.Type, &r.Identity.PrincipalID, &r.Identity.Arn, &r.Identity.Account,
		&r.Identity.AccessKey, &r.Identity.User, &r.Identity.SourceIdentity, &r.Identity.SignIn, &r.Identity.Role,
		&r.Decision.Policy, &r.Decision.Statement,
	} {
		if isLong(*text) {
			*text = clip(*text)
		}
	}
}

// clip returns the beginning of a long text, in memory of its own.
func clip(text string) string {
	if !isLong(text) {
		return text
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end])
}

// clipLists shortens lists and their texts, in copies: the caller may still read its own.
func (r *Record) clipLists() {
	if len(r.Resources) > maxList || slices.ContainsFunc(r.Resources, isLong) {
		r.Resources = slices.Clone(r.Resources[:min(len(r.Resources), maxList)])
		for i, arn := range r.Resources {
			r.Resources[i] = clip(arn)
		}
	}
	if r.Details == nil {
		return
	}
	details := make(map[string]string, min(len(r.Details), maxList))
	for key, value := range r.Details {
		if len(details) == maxList {
			break
		}
		details[clip(key)] = clip(value)
	}
	r.Details = details
}

func isLong(text string) bool { return len(text) > maxText }

// weight is for how many calls a record stands.
func (r *Record) weight() int { return max(r.Count, 1) }
