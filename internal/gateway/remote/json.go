package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// maxAnswer limits an answer, in bytes: a page of game sessions with the longest GameSessionData and MatchmakerData.
const maxAnswer = 32 << 20

// unsigned is the signature that GameLift Local requires and does not verify. Source: AWS Signature Version 4, the form
// of the header.
const unsigned = "AWS4-HMAC-SHA256 Credential=local/20150101/local/gamelift/aws4_request, " +
	"SignedHeaders=host, Signature=0"

// A jsonClient calls GameLift Local in AWS JSON 1.1, with the SDK's shapes. The SDK itself sends CBOR.
type jsonClient struct {
	endpoint string
	http     aws.HTTPClient
}

func (c *jsonClient) CreateGameSession(ctx context.Context, in *gamelift.CreateGameSessionInput,
	_ ...option) (*gamelift.CreateGameSessionOutput, error) {
	var out struct{ GameSession *jsonGameSession }
	if err := c.call(ctx, "CreateGameSession", in, &out); err != nil {
		return nil, err
	}
	return &gamelift.CreateGameSessionOutput{GameSession: out.GameSession.shape()}, nil
}

func (c *jsonClient) DescribeGameSessions(ctx context.Context, in *gamelift.DescribeGameSessionsInput,
	_ ...option) (*gamelift.DescribeGameSessionsOutput, error) {
	var out struct {
		GameSessions []jsonGameSession
		NextToken    *string
	}
	if err := c.call(ctx, "DescribeGameSessions", in, &out); err != nil {
		return nil, err
	}
	return &gamelift.DescribeGameSessionsOutput{GameSessions: each(out.GameSessions, (*jsonGameSession).shape),
		NextToken: out.NextToken}, nil
}

func (c *jsonClient) CreatePlayerSessions(ctx context.Context, in *gamelift.CreatePlayerSessionsInput,
	_ ...option) (*gamelift.CreatePlayerSessionsOutput, error) {
	var out struct{ PlayerSessions []jsonPlayerSession }
	if err := c.call(ctx, "CreatePlayerSessions", in, &out); err != nil {
		return nil, err
	}
	return &gamelift.CreatePlayerSessionsOutput{PlayerSessions: each(out.PlayerSessions, (*jsonPlayerSession).shape)},
		nil
}

func (c *jsonClient) DescribePlayerSessions(
	ctx context.Context, in *gamelift.DescribePlayerSessionsInput, _ ...option,
) (*gamelift.DescribePlayerSessionsOutput, error) {
	var out struct {
		PlayerSessions []jsonPlayerSession
		NextToken      *string
	}
	if err := c.call(ctx, "DescribePlayerSessions", in, &out); err != nil {
		return nil, err
	}
	return &gamelift.DescribePlayerSessionsOutput{PlayerSessions: each(out.PlayerSessions, (*jsonPlayerSession).shape),
		NextToken: out.NextToken}, nil
}

// call makes one call. An exception is an [exception].
func (c *jsonClient) call(ctx context.Context, operation string, in, out any) error {
	body, err := encode(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "GameLift."+operation)
	request.Header.Set("Authorization", unsigned)
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // the body has been read
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return exceptionIn(answer.StatusCode, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	return nil
}

// encode encodes an input without its absent members: the SDK's shapes encode them as null, which older services
// reject.
func encode(in any) ([]byte, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool {
		return string(value) == "null" || string(value) == `""`
	})
	return json.Marshal(members)
}

// exceptionIn decodes an error answer. Source: Smithy specification, AWS JSON 1.1, "Operation error serialization".
func exceptionIn(status int, body []byte) error {
	var e struct {
		Type    string `json:"__type"`
		Message string
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Type == "" {
		return fmt.Errorf("the endpoint answered with status %d", status)
	}
	name := e.Type[strings.LastIndexByte(e.Type, '#')+1:]
	name, _, _ = strings.Cut(name, ":")
	return &exception{name, e.Message}
}

// An exception is an apiError.
type exception struct{ code, message string }

func (e *exception) Error() string        { return "api error " + e.code + ": " + e.message }
func (e *exception) ErrorCode() string    { return e.code }
func (e *exception) ErrorMessage() string { return e.message }

// jsonGameSession is types.GameSession with timestamps of AWS JSON 1.1.
type jsonGameSession struct {
	types.GameSession

	CreationTime, TerminationTime *epochSeconds
}

func (g *jsonGameSession) shape() *types.GameSession {
	if g == nil {
		return nil
	}
	g.GameSession.CreationTime, g.GameSession.TerminationTime = g.CreationTime.time(), g.TerminationTime.time()
	return &g.GameSession
}

// jsonPlayerSession is types.PlayerSession with timestamps of AWS JSON 1.1.
type jsonPlayerSession struct {
	types.PlayerSession

	CreationTime, TerminationTime *epochSeconds
}

func (p *jsonPlayerSession) shape() *types.PlayerSession {
	p.PlayerSession.CreationTime, p.PlayerSession.TerminationTime = p.CreationTime.time(), p.TerminationTime.time()
	return &p.PlayerSession
}

// each returns the shapes of a list; nil stays nil.
func each[A, B any](list []A, shape func(*A) *B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i := range list {
		out[i] = *shape(&list[i])
	}
	return out
}

// epochSeconds is a timestamp of AWS JSON 1.1.
type epochSeconds float64

func (e *epochSeconds) time() *time.Time {
	if e == nil {
		return nil
	}
	t := time.UnixMilli(int64(math.Round(float64(*e) * 1000))).UTC()
	return &t
}
