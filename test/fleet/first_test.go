// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

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
	must.Succeed(w.t, os.WriteFile(filepath.Join(dir, "first.yaml"), []byte(yamls[0]), 0o600))
	shell := func(script string) string {
		t.Helper()
		out := must.Get(w.runShell(dir, environment, script))(w.t)
		return out
	}
	shell(shells[0])
	primary := w.findPort()
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
		Platform: readers, Namespaces: []string{"dns-system"}, Primaries: primaryAt(primary),
	})
	shell(shells[1])
	if out := shell(shells[2]); strings.TrimSpace(out) != "192.0.2.80" {
		t.Errorf("dig says %q", out)
	}
}
