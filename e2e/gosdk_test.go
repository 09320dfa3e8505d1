package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/e2e/clients"
)

// goSDK calls the API by the names of its operations with the AWS SDK for Go,
// which speaks CBOR.
type goSDK struct {
	ctx    context.Context // the test's
	client *gamelift.Client
}

// Call implements clients.Caller.
func (g goSDK) Call(operation string, params, result any) error {
	method := reflect.ValueOf(g.client).MethodByName(operation)
	if !method.IsValid() {
		return fmt.Errorf("the SDK has no operation %s", operation)
	}
	input := reflect.New(method.Type().In(1).Elem())
	if err := convert(params, input.Interface()); err != nil {
		return err
	}
	answer := method.Call([]reflect.Value{reflect.ValueOf(g.ctx), input})
	if err, failed := answer[1].Interface().(error); failed {
		return sdkError(err)
	}
	if result == nil {
		return nil
	}
	return convert(answer[0].Interface(), result)
}

// convert carries values over to a type with the same members.
func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

func sdkError(err error) error {
	refusal, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	e := &clients.APIError{Code: refusal.ErrorCode(), Message: refusal.ErrorMessage()}
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		e.Status = answer.HTTPStatusCode()
	}
	return e
}
