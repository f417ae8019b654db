// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func newSigner(policies ...bind9.DNSSECPolicy) (render.Server, *bind9.Bind9Cluster) {
	instance, cluster := makeInstance()
	instance.Name, instance.Spec.Role = "prod-signer-0", bind9.RoleSigner
	cluster.Spec.DNSSEC = &bind9.ClusterDNSSEC{Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}, Policies: policies}
	signer := newServer(instance, cluster)
	signer.Peers = &render.TransferKeys{Key: makeKey("bind9", 5)}
	signer.HiddenPrimaries = makeCatalogs()[0].Primaries
	return signer, cluster
}

func randomPolicy(r *rand.Rand, i int) bind9.DNSSECPolicy {
	pick := func(seconds ...int) *metav1.Duration {
		if r.IntN(3) == 0 {
			return nil
		}
		return &metav1.Duration{Duration: time.Duration(seconds[r.IntN(len(seconds))]) * time.Second}
	}
	const hour, day = 3600, 86400
	return bind9.DNSSECPolicy{
		Name: fmt.Sprintf("p-%d", i), NSEC3: r.IntN(2) == 0,
		Algorithm:   []bind9.DNSSECAlgorithm{"", bind9.DNSSECRSASHA256, bind9.DNSSECECDSAP256SHA256, bind9.DNSSECECDSAP384SHA384, bind9.DNSSECED25519}[r.IntN(5)],
		KSKLifetime: pick(1, 30, 2*hour, 26*hour, 27*hour, 400*day), ZSKLifetime: pick(1, 30, 2*hour, 10*day, 11*day, 90*day),
		Timing: &bind9.DNSSECTiming{
			DNSKEYTTL: pick(1, hour, day), MaxZoneTTL: pick(1, hour, 2*day), ParentDSTTL: pick(1, hour, 2*day), ZonePropagationDelay: pick(1, 300, hour),
			ParentPropagationDelay: pick(1, hour), PublishSafety: pick(1, hour), RetireSafety: pick(1, hour),
			SignaturesValidity: pick(1, 60, hour, 12*hour, 13*hour, 14*day), SignaturesRefresh: pick(1, 50, 54, hour, 11*hour, 5*day),
		},
	}
}

// The API accepts exactly the DNSSEC policies that named-checkconf accepts, so no accepted policy stops named at its
// start (S12.4). The test compares both on random policies.
func TestPolicies_areThoseThatBINDTakes_S12_4(t *testing.T) {
	program := rig.Need(rig.Find("named-checkconf", "apt-get install bind9-utils"))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	taken, refused := 0, 0
	for seed := range uint64(200) {
		policy := randomPolicy(rand.New(rand.NewPCG(seed, 12)), int(seed))
		server, cluster := newSigner(policy)
		result := must.Get(checkConf(ctx, t, program, dir, server))(t)
		// BIND only warns of frequent rollovers.
		errs := validation.Bind9Cluster(cluster, nil, validation.FleetRules{})
		if (result.err == nil) != (len(errs) == 0) {
			t.Fatalf("seed %d: named-checkconf says %v %s; the API says %v\n%s", seed, result.err, result.out, errs, result.config)
		}
		if result.err == nil {
			taken++
		} else {
			refused++
		}
	}
	if taken < 20 || refused < 20 {
		t.Errorf("%d policies taken and %d refused: the random ones are too much alike", taken, refused)
	}
}

// A signer is the server that signs the zones of a cluster. Only the cluster's servers, its agent and Kubizone may
// query it or transfer from it, by a TSIG key of its own. Its DNSSEC keys are on a volume claim that outlives the pod
// (S12.4).
func TestSigner_S12_4(t *testing.T) {
	signer, _ := newSigner(bind9.DNSSECPolicy{Name: "yearly"})
	if signer.Group() != "prod-signer-0" {
		t.Errorf("its TSIG key is that of %s", signer.Group())
	}
	objects := must.Get(signer.Objects())(t)
	files := must.Get(signer.Files())(t)
	own, peers := signer.Transfer.Name, signer.Peers.Name
	must.Say(t, files["named.conf"], fmt.Sprintf("allow-query { 127.0.0.1; key %q; key %q; };", own, peers),
		fmt.Sprintf("allow-transfer { key %q; key %q; };", own, peers),
		fmt.Sprintf("primaries \"kubizone\" { 10.96.0.53 port 53 key %q; 2001:db8::35 port 53 key %q; };", own, own),
		"dnssec-policy \"yearly\" {")
	if strings.Contains(files["named.conf"], "catalog-zones") {
		t.Error("it follows a catalog")
	}
	if signer.Workload() != render.StatefulSets {
		t.Errorf("%v has no claim", signer.Workload())
	}
	for _, o := range objects {
		if o.Resource == render.StatefulSets && !strings.Contains(marshalObject(o), `"whenDeleted":"Retain"`) {
			t.Errorf("its claim goes with it: %s", marshalObject(o))
		}
	}
}

func marshalObject(o render.Object) string {
	text, err := json.Marshal(o.Config)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
