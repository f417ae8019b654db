// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var binaries struct{ kubizone, client, webhookServer, publish, kubectl, kstatus, argohealth, helm string }

func TestMain(m *testing.M) {
	rig.SpareGarbage()
	rig.Main("e2e", func(dir string) (int, error) {
		if err := buildPrograms(dir); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

func buildPrograms(dir string) error {
	var err error
	if binaries.kubizone, err = rig.Kubizone(context.Background(), dir, ""); err != nil {
		return err
	}
	if binaries.client, err = rig.Client(context.Background(), dir); err != nil {
		return err
	}
	if binaries.webhookServer, err = rig.WebhookServer(context.Background(), dir); err != nil {
		return err
	}
	if binaries.publish, err = rig.Publish(context.Background(), dir); err != nil {
		return err
	}
	var missing *rig.Missing
	if binaries.kubectl, err = rig.KubeProgram("kubectl"); errors.As(err, &missing) {
		return nil // needPrograms reports a missing kubectl
	}
	return err
}

func needPrograms(t *testing.T) {
	t.Helper()
	rig.Need(rig.KubeProgram("kubectl"))(t)
	binaries.kstatus = rig.Need(rig.GitOpsProgram("gitops", "kstatus"))(t)
	binaries.argohealth = rig.Need(rig.GitOpsProgram("gitops", "argohealth"))(t)
	binaries.helm = rig.Need(rig.Tool("helm"))(t)
	for _, peer := range []string{"dig", "named", "named-compilezone"} {
		rig.Need(rig.Find(peer, "hack/install-peers.sh"))(t)
	}
}

// TestStories runs testdata/*.txtar. Commands beyond testscript's are in server_test.go, secondary_test.go and
// replay_test.go. Variables:
//
//	EXAMPLES    artifacts/examples
//	GITOPS      artifacts/gitops
//	ROOT_ZONE   the root zone of 2018-03-12; in the short form only some top-level domains
//	ROOT_SIZE   number of records
//	ROOT_SETS   number of RRsets, without those of the SOA and the NS of the apex
//	KUBECONFIG  the admin's, once `up` has run
//	API         host:port of the API server, once `up` has run
//	DNS_PORT    port of the hidden primary on 127.0.0.1, once `up` has run
func TestStories(t *testing.T) {
	needPrograms(t)
	repository := must.Get(filepath.Abs("../.."))(t)
	chosen := chooseRoot(t)
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_STORIES") != "",
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, ".bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			programs := map[string]string{
				"kubizone": binaries.kubizone, "kubectl-kubizone": binaries.client, "webhook-server": binaries.webhookServer,
				"publish": binaries.publish, "kubectl": binaries.kubectl, "kstatus": binaries.kstatus, "argohealth": binaries.argohealth,
				"helm": binaries.helm,
			}
			for name, path := range programs {
				if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
					return err
				}
			}
			env.Setenv("PATH", bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TZ", "UTC")
			env.Setenv(delivering.EnvRetryBaseDelay, "1s")
			env.Setenv("GOGC", os.Getenv("GOGC"))
			env.Setenv("EXAMPLES", filepath.Join(repository, "artifacts/examples"))
			env.Setenv("GITOPS", filepath.Join(repository, "artifacts/gitops"))
			env.Setenv("ROOT_ZONE", chosen.path)
			env.Setenv("ROOT_SIZE", strconv.Itoa(chosen.entries))
			env.Setenv("ROOT_SETS", strconv.Itoa(chosen.sets))
			story := &story{}
			env.Values[storyKey{}] = story
			env.Defer(story.endStory)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up":        startUp,
			"down":      stopUp,
			"secondary": startSecondary,
			"updatable": startUpdatablePrimary,
			"webhook":   startWebhook,
			"manifests": writeManifests,
			"until":     rig.RunUntil(waitTimeout),
			"within":    rig.RunWithin,
			"anonymous": askAnonymously,
			"replay":    replayFile,
			"port":      findPort,
			"serial":    readSerial,
		},
	})
}
