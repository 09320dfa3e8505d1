package console

import (
	"go/format"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An OperationGroup is operations of the API that belong together.
type OperationGroup struct {
	Name       string
	Operations []string
}

// An explorerBody is the list of operations, and one of them with its answer.
type explorerBody struct {
	Groups    []OperationGroup
	Operation string
	Members   []wire.InputMember
	Body      string // JSON that was typed, or a sample
	Sample    bool   // Body is a sample
	Dangerous bool   // it ends or deletes something
	Asking    bool   // it is dangerous, and was not confirmed yet

	Ran           bool
	Answer        string // JSON
	Failure       string // the exception
	FailureReason string
	RequestID     string
	AWS, Curl     string // the same on a command line
	Python, Go    string // the same as a program
	NoProgram     string // why there is none
	Messages      []message

	failure *fault.Error
}

func explorerPage(v *visit) error { return v.explorer(explorerBody{}) }

func operationPage(v *visit) error {
	info, err := v.operation()
	if err != nil {
		return err
	}
	b := explorerBody{Operation: info.Name, Body: v.form("body")}
	if b.Sample = b.Body == ""; b.Sample {
		b.Body = v.sample(info)
	}
	return v.explorer(b)
}

func (v *visit) operation() (*wire.OperationInfo, error) {
	name := v.r.PathValue("operation")
	info, ok := wire.Lookup(name)
	if !ok {
		return nil, fault.New(fault.NotFound, "GameLift has no operation %.64q.", name)
	}
	return info, nil
}

// runOperation makes the call as the person who has signed in. One that ends something is asked for once more.
func runOperation(v *visit) error {
	info, err := v.operation()
	if err != nil {
		return err
	}
	b := explorerBody{Operation: info.Name, Body: v.form("body")}
	if b.Asking = dangerous(info.Name) && v.form("confirm") != info.Name; b.Asking {
		return v.explorer(b)
	}
	answer, err := v.h.Calls.InvokeJSON(v.ctx, v.id, v.from, info.Name, []byte(b.Body))
	b.Ran, b.Answer, b.RequestID = true, formatted(string(answer)), v.from.RequestID
	if err != nil {
		f := fault.Of(err)
		b.Failure, b.FailureReason, b.failure = string(f.Kind), f.Message, f
	}
	return v.explorer(b)
}

func (v *visit) explorer(b explorerBody) error {
	p := page{Title: "API", Nav: "/console/api"}
	b.Groups = v.h.Operations
	if b.Operation != "" {
		p.Title, p.Crumbs = b.Operation, []link{{"API", "/console/api"}}
		b.Dangerous = dangerous(b.Operation)
		info, _ := wire.Lookup(b.Operation)
		b.Members = info.InputMembers()
		body := compact(b.Body)
		b.AWS = shell([]string{"aws", "gamelift", commandOf(b.Operation), "--cli-input-json", body})
		b.Curl = shell([]string{"curl", "--aws-sigv4", "aws:amz:" + v.h.RegionName + ":gamelift"}) +
			` --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"` + " \\\n  " +
			shell([]string{"-H", "X-Amz-Target: GameLift." + b.Operation, "-H",
				"Content-Type: application/x-amz-json-1.1", "-d", body, v.h.Endpoint})
		v.programs(&b, info)
		b.messages(info, b.failure)
	}
	p.Body = b
	return v.show("explorer", p)
}

// programs adds the programs that make the call.
func (v *visit) programs(b *explorerBody, info *wire.OperationInfo) {
	python, err := info.PythonLiteral([]byte(b.Body))
	if err != nil {
		b.NoProgram = sentence(err.Error())
		return
	}
	golang, err := info.GoLiteral([]byte(b.Body))
	if err != nil {
		b.NoProgram = sentence(err.Error())
		return
	}
	region, endpoint := strconv.Quote(v.h.RegionName), strconv.Quote(v.h.Endpoint)
	b.Python = "import boto3\n"
	if python.Base64 {
		b.Python = "import base64\n\nimport boto3\n"
	}
	b.Python += "\ngamelift = boto3.client(\"gamelift\", region_name=" + region + ", endpoint_url=" + endpoint + ")\n" +
		"answer = gamelift." + strings.ReplaceAll(commandOf(b.Operation), "-", "_") + python.Text + "\nprint(answer)\n"
	packages, types := "\t\"context\"\n\t\"fmt\"\n\t\"log\"\n", ""
	if golang.Time {
		packages += "\t\"time\"\n"
	}
	if golang.Types {
		types = "\t\"github.com/aws/aws-sdk-go-v2/service/gamelift/types\"\n"
	}
	b.Go = strings.NewReplacer("PACKAGES", packages, "TYPES", types, "REGION", region, "ENDPOINT", endpoint,
		"OPERATION", b.Operation, "INPUT", golang.Text).Replace(goProgram)
	if aligned, err := format.Source([]byte(b.Go)); err == nil {
		b.Go = string(aligned)
	}
}

// goProgram is the program for the AWS SDK for Go 2, with words to replace.
const goProgram = `package main

import (
PACKAGES
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
TYPES)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(REGION))
	if err != nil {
		log.Fatal(err)
	}
	client := gamelift.NewFromConfig(cfg, func(o *gamelift.Options) {
		o.BaseEndpoint = aws.String(ENDPOINT)
	})
	answer, err := client.OPERATION(ctx, INPUT)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", answer)
}
`

// dangerous reports whether an operation ends or deletes something.
func dangerous(operation string) bool {
	for _, verb := range []string{"Delete", "Deregister", "Stop", "Terminate"} {
		if strings.HasPrefix(operation, verb) {
			return true
		}
	}
	return false
}

// Where the words of an operation's name begin. Source: botocore, xform_name.
var (
	beforeWord  = regexp.MustCompile(`(.)([A-Z][a-z]+)`)
	beforeUpper = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// commandOf returns the command of the AWS CLI for an operation: describe-ec2-instance-limits.
func commandOf(operation string) string {
	return strings.ToLower(beforeUpper.ReplaceAllString(beforeWord.ReplaceAllString(operation, "$1-$2"), "$1-$2"))
}

func operationPath(name string) string { return "/console/api/" + url.PathEscape(name) }
