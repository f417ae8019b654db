// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// The commands are those of "The first fleet in ten minutes" in docs/fleet.md. A replacement of helm applies the
// chart's RBAC, and controller and primary run with these rights only.
func TestFleet_startsAsItsPageSays(t *testing.T) {
	w := newWorld(t, "first-fleet") // the test's namespace; the page's commands create their own
	w.namespace = "dns-system"
	if _, err := rig.Find("named", "apt-get install bind9"); err != nil {
		rig.SkipMissing(t, err)
	}
	if os.Getuid() != 0 {
		t.Skip("port 53 at the address of a Service takes root")
	}
	helm := rig.Need(rig.Tool("helm"))(t)
	yamls, shells := documentBlocks(t, "fleet.md", "first")
	if len(yamls) != 1 || len(shells) != 3 {
		t.Fatalf("the page has %d blocks of YAML and %d of shell; this test knows 1 and 3", len(yamls), len(shells))
	}
	dir, environment := w.makeShell()
	chart := must.Get(filepath.Abs("../../charts/kubizone"))(w.t)
	// helm upgrade --install NAME CHART -n NAMESPACE --create-namespace FLAGS
	install := "#!/bin/bash\nset -euo pipefail\nfiles=()\nfor file in fleet controller primary; do files+=(-s templates/$file/rbac.yaml); done\n" +
		"[[ \"$1 $2 $3 $5 $6 $7\" = 'upgrade --install kubizone -n kubizone-system --create-namespace' ]]\n" +
		helm + " template kubizone " + chart + " -n kubizone-system --set image.repository=kubizone \"${files[@]}\" \"${@:8}\" | kubectl apply -f -\n"
	must.Succeed(w.t, os.WriteFile(filepath.Join(dir, "bin", "helm"), []byte(install), 0o700))
	// Services of the test have addresses on this machine.
	must.Succeed(w.t, os.WriteFile(filepath.Join(dir, "first.yaml"),
		[]byte(strings.Replace(yamls[0], "  bind9:\n", "  allowLocalAddresses: true\n  bind9:\n", 1)), 0o600))
	shell := func(script string) string {
		t.Helper()
		out := must.Get(w.runShell(dir, environment, script))(w.t)
		return out
	}
	shell(shells[0])
	k := newKubelet(w, "first")
	primary := must.Get(rig.FreePort())(w.t)
	for _, arguments := range [][]string{
		{"primary", "--dns-listen", primary.String()}, {"controller", "--lease", kuberig.InstallNamespace + "/kubizone-controller",
			rig.LongLease},
	} {
		account := must.Get(w.kube.ServiceAccount(w.ctx, kuberig.InstallNamespace, "kubizone-"+arguments[0]))(w.t)
		w.startProgram(account, arguments...)
	}
	readers := makePlatform()
	for _, account := range []string{"kubizone-controller", "kubizone-primary"} {
		readers.KeyReaders = append(readers.KeyReaders, types.NamespacedName{Namespace: kuberig.InstallNamespace, Name: account})
	}
	w.runFleetWith(fleet.Config{
		Platform: readers, Namespaces: []string{"dns-system"}, Ask: k.askPod, Members: k.askMembers,
		Primaries: primaryAt(primary),
	})
	// With the Services, clients reach the pods.
	apply, wait, _ := strings.Cut(shells[1], "\n")
	shell(apply)
	for _, server := range []string{"first-secondary-0", "first-secondary-1"} {
		w.runProxy(k, server)
	}
	shell(wait)
	if out := shell(shells[2]); strings.TrimSpace(out) != "192.0.2.80" {
		t.Errorf("dig says %q", out)
	}
}
