// Package direct reaches sessions through the AWS API of Amazon GameLift Servers: of Muster, or of AWS.
//
//	client := direct.New(direct.Config{
//		Endpoint: "http://127.0.0.1:9080", // "" for AWS
//		Region:   "us-west-2",
//		Target:   direct.Target{FleetID: fleet}, // for Host and Find
//	})
//
// A program needs credentials for the API, and anyone who extracts them has all its permissions: this package is for
// game backends, tools and development. Game clients use package session/gateway.
package direct
