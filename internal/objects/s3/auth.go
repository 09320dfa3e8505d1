package s3

import (
	"context"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/objects"
)

// authenticate sets the caller, and the signature if it is valid.
func (q *request) authenticate(ctx context.Context) error {
	if q.Anyone != nil && q.r.Header.Get("Origin") != "" {
		return objects.Errorf(objects.AccessDenied,
			"Web pages may not call this service: the request has an Origin header.")
	}
	s, err := q.verify(ctx)
	if err == nil {
		q.signature = s
		return nil
	}
	if q.Anyone != nil {
		q.caller = q.Anyone
		return nil
	}
	if q.Refused != nil {
		accessKey := ""
		if s != nil {
			accessKey = s.AccessKeyID
		}
		q.Refused(ctx, accessKey, "s3:"+q.shownName(), err)
	}
	return err
}

// shownName is the operation, without a text of the client.
func (q *request) shownName() string {
	if q.operation == nil {
		return "unknown"
	}
	return q.operation.name
}

// verify returns the signature of the request, which is nil if it cannot be read, and sets the caller.
func (q *request) verify(ctx context.Context) (*sigv4.S3Signature, error) {
	if isV2(q.r.URL.RawQuery) || strings.HasPrefix(q.r.Header.Get("Authorization"), "AWS ") {
		return nil, objects.Errorf(objects.InvalidRequest,
			"Signature Version 2 is not supported. Use Signature Version 4: with boto3, "+
				"boto3.client('s3', config=botocore.config.Config(signature_version='s3v4')); "+
				"with the AWS CLI, 'aws configure set default.s3.signature_version s3v4'.")
	}
	s, err := sigv4.ReadS3(&q.head)
	if err != nil {
		return nil, signatureError(err, q.query.Has("X-Amz-Credential"))
	}
	secret, caller, err := q.Keys.Open(ctx, s.AccessKeyID, s.SessionToken)
	if err != nil {
		return s, err
	}
	if err := q.checkTime(s); err != nil {
		return s, err
	}
	if err := q.verifier.Verify(&q.head, s, secret); err != nil {
		return s, signatureError(err, s.Presigned)
	}
	q.caller = caller
	return s, nil
}

// checkTime rejects a signature that is too old, or from the future.
func (q *request) checkTime(s *sigv4.S3Signature) error {
	now := q.Clock.Now()
	switch {
	case s.Presigned && !now.Before(s.Time.Add(s.Expires)):
		return objects.Errorf(objects.AccessDenied, "Request has expired: it was valid until %s.",
			s.Time.Add(s.Expires).UTC().Format(time.RFC3339))
	case s.Time.After(now.Add(q.Skew)) || !s.Presigned && s.Time.Before(now.Add(-q.Skew)):
		return objects.Errorf(objects.RequestTimeTooSkewed,
			"The difference between the request time, %s, and the current time, %s, is more than %v. Set the clock.",
			s.Time.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), q.Skew)
	}
	return nil
}
