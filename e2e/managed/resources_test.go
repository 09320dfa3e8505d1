//go:build unix

package managed

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/mustertest"
)

// TestResources makes the calls of a tool that declares resources, with the SDK for Go: it creates a build from a
// bucket, a fleet, an alias and a queue, reads them back, changes and destroys them. Such a tool compares what it reads
// with what it wrote. None is run here: this is no promise for one.
func TestResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tags := []types.Tag{{Key: aws.String("stage"), Value: aws.String("test")}}
	build := w.buildFromBucket(tags)
	role := w.gameRole(build)

	permission := types.IpPermission{FromPort: aws.Int32(20000), ToPort: aws.Int32(29999),
		IpRange: aws.String("0.0.0.0/0"), Protocol: types.IpProtocolUdp}
	created := mustertest.Call(t, w.client.CreateFleet, &gamelift.CreateFleetInput{
		Name: aws.String("Arena"), Description: aws.String("four players"), BuildId: build.BuildId,
		EC2InstanceType: types.EC2InstanceTypeC5Large, FleetType: types.FleetTypeOnDemand, Tags: tags,
		CertificateConfiguration:       &types.CertificateConfiguration{CertificateType: types.CertificateTypeDisabled},
		EC2InboundPermissions:          []types.IpPermission{permission},
		InstanceRoleArn:                &role,
		MetricGroups:                   []string{"arena"},
		NewGameSessionProtectionPolicy: types.ProtectionPolicyFullProtection,
		ResourceCreationLimitPolicy: &types.ResourceCreationLimitPolicy{NewGameSessionsPerCreator: aws.Int32(5),
			PolicyPeriodInMinutes: aws.Int32(1)},
		RuntimeConfiguration: &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: aws.Int32(300),
			MaxConcurrentGameSessionActivations: aws.Int32(2), ServerProcesses: []types.ServerProcess{arena(1)}},
	}).FleetAttributes
	w.fleet = *created.FleetId
	w.awaitStatus(types.FleetStatusActive)

	alias := mustertest.Call(t, w.client.CreateAlias, &gamelift.CreateAliasInput{Name: aws.String("live"), Tags: tags,
		RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: &w.fleet}}).Alias
	queue := mustertest.Call(t, w.client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("arena"), TimeoutInSeconds: aws.Int32(60), Tags: tags,
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: alias.AliasArn}},
		PlayerLatencyPolicies: []types.PlayerLatencyPolicy{
			{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(100), PolicyDurationSeconds: aws.Int32(5)},
			{MaximumIndividualPlayerLatencyMilliseconds: aws.Int32(200), PolicyDurationSeconds: aws.Int32(0)}},
	}).GameSessionQueue

	w.checkFleet(created, build)
	w.checkQueue(queue, alias)
	for _, arn := range []*string{build.BuildArn, created.FleetArn, alias.AliasArn, queue.GameSessionQueueArn} {
		got := mustertest.Call(t, w.client.ListTagsForResource,
			&gamelift.ListTagsForResourceInput{ResourceARN: arn}).Tags
		if len(got) != 1 || *got[0].Key != "stage" || *got[0].Value != "test" {
			t.Errorf("tags of %s are %v", *arn, got)
		}
	}
	w.change(permission)

	mustertest.Call(t, w.client.DeleteGameSessionQueue, &gamelift.DeleteGameSessionQueueInput{Name: queue.Name})
	mustertest.Call(t, w.client.DeleteAlias, &gamelift.DeleteAliasInput{AliasId: alias.AliasId})
	mustertest.Call(t, w.client.DeleteFleet, &gamelift.DeleteFleetInput{FleetId: &w.fleet})
	mustertest.Eventually(t, "the fleet is deleted", func() bool { return w.status() == "" })
	mustertest.Call(t, w.client.DeleteBuild, &gamelift.DeleteBuildInput{BuildId: build.BuildId})
	w.checkDestroyed(build, alias, queue)
}

// buildFromBucket creates a build of an archive that lies in a bucket of the user.
func (w *world) buildFromBucket(tags []types.Tag) *types.Build {
	w.Helper()
	path := filepath.Join(w.TempDir(), "arena.zip")
	if err := w.archive(path); err != nil {
		w.Fatal(err)
	}
	_, made := w.cli.Run("s3", "mb", "s3://releases")
	_, copied := w.cli.Run("s3", "cp", "--quiet", path, "s3://releases/arena.zip")
	if err := errors.Join(made, copied); err != nil {
		w.Fatal(err)
	}
	id := mustertest.Call(w, w.client.CreateBuild, &gamelift.CreateBuildInput{Name: aws.String("arena"),
		Version: aws.String("1"), OperatingSystem: types.OperatingSystemAmazonLinux2023, Tags: tags,
		StorageLocation: &types.S3Location{Bucket: aws.String("releases"), Key: aws.String("arena.zip"),
			RoleArn: aws.String("arn:aws:iam::123456789012:role/builds")}}).Build.BuildId
	var build *types.Build
	mustertest.Eventually(w, "the build is ready", func() bool {
		build = mustertest.Call(w, w.client.DescribeBuild, &gamelift.DescribeBuildInput{BuildId: id}).Build
		return build.Status == types.BuildStatusReady
	})
	if *build.Name != "arena" || *build.Version != "1" ||
		build.OperatingSystem != types.OperatingSystemAmazonLinux2023 {
		w.Errorf("the build is %+v", build)
	}
	return build
}

// gameRole creates the role of the fleet's instances, in the account of a build, and returns its ARN.
func (w *world) gameRole(build *types.Build) string {
	w.Helper()
	trust := filepath.Join(w.TempDir(), "trust.json")
	err := os.WriteFile(trust, []byte(`{"Version":"2012-10-17","Statement":{"Effect":"Allow",`+
		`"Principal":{"Service":"gamelift.amazonaws.com"},"Action":"sts:AssumeRole"}}`), 0o600)
	if err != nil {
		w.Fatal(err)
	}
	w.muster("role", "put", "game", "--policy", "GameLiftReadOnly", "--trust", trust)
	return "arn:aws:iam::" + strings.Split(*build.BuildArn, ":")[4] + ":role/game"
}

// archive writes a zip file with the arena's game server.
func (w *world) archive(path string) error {
	server, err := os.ReadFile(filepath.Join(binaries, "server"))
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	z := zip.NewWriter(file)
	header := zip.FileHeader{Name: "server", Method: zip.Store}
	header.SetMode(0o755)
	entry, err := z.CreateHeader(&header)
	if err == nil {
		_, err = entry.Write(server)
	}
	return errors.Join(err, z.Close(), file.Close())
}

func (w *world) checkFleet(created *types.FleetAttributes, build *types.Build) {
	w.Helper()
	f := mustertest.Call(w, w.client.DescribeFleetAttributes,
		&gamelift.DescribeFleetAttributesInput{FleetIds: []string{w.fleet}}).FleetAttributes[0]
	limits := f.ResourceCreationLimitPolicy
	if *f.FleetArn != *created.FleetArn || aws.ToString(f.BuildId) != *build.BuildId || *f.Name != "Arena" ||
		*f.Description != "four players" || f.FleetType != types.FleetTypeOnDemand ||
		aws.ToString(f.InstanceRoleArn) != *created.InstanceRoleArn || f.MetricGroups[0] != "arena" ||
		f.NewGameSessionProtectionPolicy != types.ProtectionPolicyFullProtection ||
		f.OperatingSystem != types.OperatingSystemAmazonLinux2023 || f.InstanceType != types.EC2InstanceTypeC5Large ||
		*limits.NewGameSessionsPerCreator != 5 || *limits.PolicyPeriodInMinutes != 1 ||
		f.CertificateConfiguration.CertificateType != types.CertificateTypeDisabled {
		w.Errorf("the fleet is %+v", f)
	}
	ports := mustertest.Call(w, w.client.DescribeFleetPortSettings,
		&gamelift.DescribeFleetPortSettingsInput{FleetId: &w.fleet}).InboundPermissions
	if len(ports) != 1 || *ports[0].FromPort != 20000 || *ports[0].ToPort != 29999 {
		w.Errorf("the port settings are %+v", ports)
	}
	runtime := mustertest.Call(w, w.client.DescribeRuntimeConfiguration,
		&gamelift.DescribeRuntimeConfigurationInput{FleetId: &w.fleet}).RuntimeConfiguration
	if *runtime.GameSessionActivationTimeoutSeconds != 300 || *runtime.MaxConcurrentGameSessionActivations != 2 ||
		len(runtime.ServerProcesses) != 1 || *runtime.ServerProcesses[0].LaunchPath != "/local/game/server" {
		w.Errorf("the runtime configuration is %+v", runtime)
	}
}

func (w *world) checkQueue(queue *types.GameSessionQueue, alias *types.Alias) {
	w.Helper()
	got := mustertest.Call(w, w.client.DescribeGameSessionQueues,
		&gamelift.DescribeGameSessionQueuesInput{Names: []string{*queue.Name}}).GameSessionQueues
	if len(got) != 1 || *got[0].TimeoutInSeconds != 60 || len(got[0].PlayerLatencyPolicies) != 2 ||
		len(got[0].Destinations) != 1 || *got[0].Destinations[0].DestinationArn != *alias.AliasArn {
		w.Errorf("the queues are %+v", got)
	}
	read := mustertest.Call(w, w.client.DescribeAlias, &gamelift.DescribeAliasInput{AliasId: alias.AliasId}).Alias
	if s := read.RoutingStrategy; s.Type != types.RoutingStrategyTypeSimple || *s.FleetId != w.fleet ||
		s.Message != nil {
		w.Errorf("the alias is %+v", read)
	}
}

// change makes each kind of update that the provider makes without replacing the fleet.
func (w *world) change(permission types.IpPermission) {
	w.Helper()
	narrow := permission
	narrow.ToPort = aws.Int32(20999)
	mustertest.Call(w, w.client.UpdateFleetPortSettings, &gamelift.UpdateFleetPortSettingsInput{FleetId: &w.fleet,
		InboundPermissionAuthorizations: []types.IpPermission{narrow},
		InboundPermissionRevocations:    []types.IpPermission{permission}})
	mustertest.Call(w, w.client.UpdateFleetAttributes, &gamelift.UpdateFleetAttributesInput{FleetId: &w.fleet,
		Name: aws.String("Arena 2"), NewGameSessionProtectionPolicy: types.ProtectionPolicyNoProtection})
	w.configure(arena(2))
	w.awaitReady(2)
	f := mustertest.Call(w, w.client.DescribeFleetAttributes,
		&gamelift.DescribeFleetAttributesInput{FleetIds: []string{w.fleet}}).FleetAttributes[0]
	ports := mustertest.Call(w, w.client.DescribeFleetPortSettings,
		&gamelift.DescribeFleetPortSettingsInput{FleetId: &w.fleet}).InboundPermissions
	if *f.Name != "Arena 2" || len(ports) != 1 || *ports[0].ToPort != 20999 {
		w.Errorf("after the changes the fleet is %+v, its ports %+v", f, ports)
	}
}

// checkDestroyed checks that reads no longer find the resources.
func (w *world) checkDestroyed(build *types.Build, alias *types.Alias, queue *types.GameSessionQueue) {
	w.Helper()
	var missing *types.NotFoundException
	_, err := w.client.DescribeBuild(w.Context(), &gamelift.DescribeBuildInput{BuildId: build.BuildId})
	if !errors.As(err, &missing) {
		w.Errorf("DescribeBuild answers %v", err)
	}
	_, err = w.client.DescribeAlias(w.Context(), &gamelift.DescribeAliasInput{AliasId: alias.AliasId})
	if !errors.As(err, &missing) {
		w.Errorf("DescribeAlias answers %v", err)
	}
	out, err := w.client.DescribeGameSessionQueues(w.Context(),
		&gamelift.DescribeGameSessionQueuesInput{Names: []string{*queue.Name}})
	if !errors.As(err, &missing) && (err != nil || len(out.GameSessionQueues) > 0) {
		w.Errorf("DescribeGameSessionQueues answers %+v, %v", out, err)
	}
}
