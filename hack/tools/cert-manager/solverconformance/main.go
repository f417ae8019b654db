// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command solverconformance runs cert-manager's conformance suite for DNS-01 webhook solvers against the group
// acme.kubi.zone, by HTTP as cert-manager does.
//
//	solverconformance KUBECONFIG FQDN ZONE DNS_SERVER
//
// The suite presents a challenge at FQDN in ZONE and queries DNS_SERVER. For its namespaces, the suite starts a control
// plane from TEST_ASSET_ETCD, TEST_ASSET_KUBE_APISERVER and TEST_ASSET_KUBECTL. The part with two values at a name is
// left out: the second value, "anothertestingkey", is no response to a DNS-01 challenge.
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	whapi "github.com/cert-manager/cert-manager/pkg/acme/webhook/apis/acme/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/issuer/acme/dns/webhook"
	dns "github.com/cert-manager/cert-manager/test/acme"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: solverconformance KUBECONFIG FQDN ZONE DNS_SERVER")
		os.Exit(2)
	}
	kubeconfig, fqdn, zone, server := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	os.Args = []string{os.Args[0], "-test.v"}
	digest := sha256.Sum256([]byte("the response of a test"))
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "TestSolver", F: func(t *testing.T) {
		s := &solver{kubeconfig: kubeconfig}
		dns.NewFixture(s, dns.SetResolvedFQDN(fqdn), dns.SetResolvedZone(zone), dns.SetDNSServer(server), dns.SetUseAuthoritative(false),
			dns.SetDNSName("example.org"), dns.SetConfig(configOf("kubizone")), dns.SetStrict(false),
			dns.SetDNSChallengeKey(base64.RawURLEncoding.EncodeToString(digest[:]))).RunConformance(t)
		if s.asked == 0 {
			t.Error("the suite asked the solver for nothing")
		}
	}}}, nil, nil)
}

// configOf returns dns01.webhook of an Issuer, of which cert-manager's client reads group and resource.
func configOf(name string) map[string]string {
	return map[string]string{"groupName": "acme.kubi.zone", "solverName": name}
}

type solver struct {
	kubeconfig string
	client     webhook.Webhook
	asked      int
}

func (*solver) Name() string { return "kubizone" }

// Initialize connects to Kubizone, not to the control plane of the suite.
func (s *solver) Initialize(_ *rest.Config, stop <-chan struct{}) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	return s.client.Initialize(config, stop)
}

func (s *solver) complete(ch *whapi.ChallengeRequest) *whapi.ChallengeRequest {
	s.asked++
	with := ch.DeepCopy()
	with.Type, with.UID = "dns-01", types.UID(fmt.Sprint(s.asked))
	return with
}

func (s *solver) Present(ch *whapi.ChallengeRequest) error { return s.client.Present(s.complete(ch)) }

func (s *solver) CleanUp(ch *whapi.ChallengeRequest) error { return s.client.CleanUp(s.complete(ch)) }
