package query

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// sdk returns a client of the AWS SDK with a key. It signs with the time of the system, to which the clock is set.
func (w *world) sdk(key string) *awssts.Client {
	w.clock.Advance(time.Since(w.clock.Now()))
	c := aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}
	if w.identities[key].Temporary {
		c.SessionToken = "token"
	}
	return awssts.New(awssts.Options{
		BaseEndpoint: &w.url, Region: "eu-west-1", RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return c, nil }),
	})
}

func TestSDK(t *testing.T) {
	w := newWorld(t)
	client, ctx := w.sdk(roleKey), t.Context()
	identity, err := client.GetCallerIdentity(ctx, nil)
	if err != nil || *identity.Arn != "arn:aws:sts::111122223333:assumed-role/dev/ada" ||
		*identity.UserId != "AROADEV:ada" || *identity.Account != "111122223333" {
		t.Errorf("GetCallerIdentity: %+v, %v", identity, err)
	}
	session, err := client.GetSessionToken(ctx, &awssts.GetSessionTokenInput{DurationSeconds: aws.Int32(900)})
	if err != nil || *session.Credentials.AccessKeyId != "ASIA1" || *session.Credentials.SecretAccessKey != "s/+" ||
		*session.Credentials.SessionToken != "t=" ||
		!session.Credentials.Expiration.Equal(created.Truncate(time.Second)) {
		t.Errorf("GetSessionToken: %+v, %v", session, err)
	}
	assumed, err := client.AssumeRole(ctx, &awssts.AssumeRoleInput{RoleArn: aws.String(roleArn),
		RoleSessionName: aws.String("me"), Policy: aws.String("{}"), SourceIdentity: aws.String("src"),
		PolicyArns: []types.PolicyDescriptorType{{Arn: aws.String("arn:aws:iam::aws:policy/A")}},
		Tags:       []types.Tag{{Key: aws.String("k"), Value: aws.String("v w")}}})
	if err != nil || *assumed.AssumedRoleUser.AssumedRoleId != "AROADEV:me" ||
		*assumed.SourceIdentity != "src" {
		t.Errorf("AssumeRole: %+v, %v", assumed, err)
	}
	want := "AssumeRole {RoleArn:" + roleArn + " SessionName:me Duration:0 Policy:{} " +
		"PolicyArns:[arn:aws:iam::aws:policy/A] ExternalID: SourceIdentity:src Tags:map[k:v w]}"
	if got := w.did[len(w.did)-1]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	web, err := client.AssumeRoleWithWebIdentity(ctx, webInput())
	if err != nil || *web.SubjectFromWebIdentityToken != "s&p" || *web.Provider != "https://issuer" ||
		*web.Audience != "aud" || *web.AssumedRoleUser.Arn != "arn:aws:sts::111122223333:assumed-role/dev/me" {
		t.Errorf("AssumeRoleWithWebIdentity: %+v, %v", web, err)
	}
	info, err := client.GetAccessKeyInfo(ctx, &awssts.GetAccessKeyInfoInput{AccessKeyId: aws.String(adaKey)})
	if err != nil || *info.Account != "111122223333" {
		t.Errorf("GetAccessKeyInfo: %+v, %v", info, err)
	}
}

func webInput() *awssts.AssumeRoleWithWebIdentityInput {
	return &awssts.AssumeRoleWithWebIdentityInput{RoleArn: aws.String(roleArn), RoleSessionName: aws.String("me"),
		WebIdentityToken: aws.String("a.b.c")}
}

// TestSDKErrors: the SDK recognises the exceptions.
func TestSDKErrors(t *testing.T) {
	w := newWorld(t)
	client := w.sdk(adaKey)
	recognised := func(kind fault.Kind, is func(error) bool) {
		w.fails = fault.New(kind, "because")
		_, err := client.AssumeRoleWithWebIdentity(t.Context(), webInput())
		if !is(err) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	recognised(fault.ExpiredToken, as[*types.ExpiredTokenException])
	recognised(fault.InvalidIdentityToken, as[*types.InvalidIdentityTokenException])
	recognised(fault.IDPCommunicationError, as[*types.IDPCommunicationErrorException])
	recognised(fault.MalformedPolicyDocument, as[*types.MalformedPolicyDocumentException])
	recognised(fault.PackedPolicyTooLarge, as[*types.PackedPolicyTooLargeException])
	recognised(fault.AccessDenied, func(err error) bool {
		e, ok := errors.AsType[smithy.APIError](err)
		return ok && e.ErrorCode() == "AccessDenied" && e.ErrorMessage() == "because"
	})
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
