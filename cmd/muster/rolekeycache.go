package main

import (
	"crypto/sha1" //nolint:gosec // the name of a file, as the AWS tools compute it
	"encoding/hex"
	"fmt"
)

// forgetRoleKeys deletes the keys of the profile's role that AWS CLI 2 has cached: it would go on with those of a
// session that has ended. Source: botocore, SSOCredentialFetcher; AWS CLI 2, aws sso logout.
func (s *ssoSession) forgetRoleKeys() error {
	if s.profile.SSORoleName == "" {
		return nil
	}
	// As json.dumps of Python writes it, which escapes what is not ASCII.
	sum := sha1.Sum(fmt.Appendf(nil, `{"accountId":%+q,"roleName":%+q,"sessionName":%+q}`, s.profile.SSOAccountID,
		s.profile.SSORoleName, s.section.Name))
	file, err := s.awsFile("", "cli", "cache", hex.EncodeToString(sum[:])+".json")
	if err != nil {
		return err
	}
	return removeFile(file)
}
