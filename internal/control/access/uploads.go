package access

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// UploadLifetime is how long the credentials for the upload of a build are valid. The AWS CLI cannot renew them within
// an upload.
const UploadLifetime = 6 * time.Hour

// The purposes of the MACs of upload credentials.
const (
	uploadPurpose       = "upload token"
	uploadSecretPurpose = "upload secret"
)

// uploadPrefix begins the session tokens of uploads. Those of other keys are base64 without a dot.
const uploadPrefix = "upload."

// maxUploadToken limits what is decoded for a caller that is not authenticated yet, in bytes.
const maxUploadToken = 512

// IssueUpload returns credentials for the upload of a build. They are not stored: token and secret are MACs, of the
// build, the end of their validity and the id of the key.
func (a *Access) IssueUpload(build string) *Temporary {
	epoch, expires := a.current().epoch(), a.now().Add(UploadLifetime)
	keyID := "ASIA" + randomID()
	body := binary.BigEndian.AppendUint32(nil, epoch.Number)
	body = binary.BigEndian.AppendUint64(body, uint64(expires.UnixMilli()))
	body = append(body, build...)
	body = append(body, epoch.MAC(uploadPurpose, keyID, string(body))...)
	token := uploadPrefix + base64.RawURLEncoding.EncodeToString(body)
	return &Temporary{AccessKeyID: keyID, SessionToken: token, Expires: expires,
		SecretAccessKey: uploadSecret(epoch.MAC(uploadSecretPurpose, keyID, token))}
}

// uploadSecret returns a MAC in the form of AWS's secrets.
func uploadSecret(mac []byte) string { return base64.RawStdEncoding.EncodeToString(mac[:30]) }

// An Upload is what credentials for the upload of a build are for.
type Upload struct {
	Build   string
	Secret  string // of the access key
	Expires time.Time
}

// OpenUpload returns the upload that an access key with a session token is for. ok is false for other keys.
func (a *Access) OpenUpload(keyID, token string) (u Upload, ok bool) {
	text, ok := strings.CutPrefix(token, uploadPrefix)
	if !ok || len(token) > maxUploadToken {
		return Upload{}, false
	}
	const head, mac = 4 + 8, 32 // bytes
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(body) < head+mac {
		return Upload{}, false
	}
	epoch, ok := a.current().epochOf(binary.BigEndian.Uint32(body), a.now())
	if !ok {
		return Upload{}, false
	}
	signed, given := body[:len(body)-mac], body[len(body)-mac:]
	if !hmac.Equal(given, epoch.MAC(uploadPurpose, keyID, string(signed))) {
		return Upload{}, false
	}
	return Upload{
		Build: string(signed[head:]), Secret: uploadSecret(epoch.MAC(uploadSecretPurpose, keyID, token)),
		Expires: time.UnixMilli(int64(binary.BigEndian.Uint64(signed[4:]))),
	}, true
}

type originKey struct{}

// WithOrigin adds to the context of a request where it comes from.
func WithOrigin(ctx context.Context, from Origin) context.Context {
	return context.WithValue(ctx, originKey{}, from)
}

// OriginOf returns what WithOrigin has added; the zero value without it.
func OriginOf(ctx context.Context) Origin {
	from, _ := ctx.Value(originKey{}).(Origin)
	return from
}
