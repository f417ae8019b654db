// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// flooder has more Challenges than there are names, lone a single Challenge at a time. A zone has the names of both.
const (
	flooder = "flooder"
	lone    = "quietvictim-lone"
)

// solver posts challenges to a server as cert-manager does: a single user, for all namespaces.
type solver struct {
	client rest.Interface
	server *kuberig.Server
}

// startSolver also creates the zone of flooder and lone.
func (a *arena) startSolver(ctx context.Context, t *testing.T) *solver {
	t.Helper()
	server := a.startBeside(ctx, t, "--acme")
	kubeconfig := must.Get(a.kube.ServiceAccount(ctx, "cert-manager", "cert-manager"))(t)
	if a.tenants[flooder] == nil {
		const user = "system:serviceaccount:cert-manager:cert-manager"
		rule := func(verb string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{APIGroups: []string{"acme.kubi.zone"}, Resources: []string{"kubizone"}, Verbs: []string{verb}}
		}
		must.Succeed(t, a.kube.Grant(ctx, "", user, rule("create")))
		for _, namespace := range []string{flooder, lone} {
			must.Succeed(t, a.joinTenant(ctx, namespace))
			must.Succeed(t, a.kube.Grant(ctx, namespace, user, rule("solve")))
		}
		zone := makeZone(platform, "challenges", "challenges.example.", v1alpha1.DelegationRule{Namespaces: []string{flooder, lone},
			Records: []v1alpha1.RecordDelegation{{Pattern: "_acme-challenge.*", Types: []string{"TXT"}}}})
		must.Get(a.tenants[platform].zones().Create(ctx, zone, metav1.CreateOptions{}))(t)
	}
	s := &solver{must.Get(a.reachTenant("", kubeconfig))(t).tenantAt(t, server).RESTClient(), server}
	until(ctx, t, "a challenge of each", func() error {
		for _, namespace := range []string{flooder, lone} {
			if err := s.post(ctx, "Present", namespace, "first"); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

func (s *solver) post(ctx context.Context, action, namespace, name string) error {
	digest := sha256.Sum256([]byte(name))
	body := fmt.Appendf(nil, `{"apiVersion": "acme.kubi.zone/v1alpha1", "kind": "ChallengePayload", "request": {"uid": "1", "action": %q,
		"type": "dns-01", "dnsName": "x", "key": %q, "resourceNamespace": %q, "resolvedFQDN": "_acme-challenge.%s.challenges.example.",
		"allowAmbientCredentials": false}}`, action, base64.RawURLEncoding.EncodeToString(digest[:]), namespace, name)
	result := s.client.Post().AbsPath("/apis/acme.kubi.zone/v1alpha1/kubizone").SetHeader("Content-Type", "application/json").
		Body(body).MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		return err
	}
	var answer struct {
		Response struct {
			Success bool
			Status  metav1.Status
		}
	}
	raw, err := result.Raw()
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil || answer.Response.Success {
		return err
	}
	return &apierrors.StatusError{ErrStatus: answer.Response.Status}
}

const floodCrowd = 8

// flood presents challenges of new names, floodCrowd at once, as fast as -noise-rate allows.
func (s *solver) flood(ctx context.Context, t *testing.T) (presented, refused *atomic.Int64, silence func()) {
	ctx, cancel := context.WithCancel(ctx)
	presented, refused = &atomic.Int64{}, &atomic.Int64{}
	pace := rate.NewLimiter(rate.Inf, 1)
	if *noiseRate > 0 {
		pace.SetLimit(rate.Limit(*noiseRate))
	}
	var all sync.WaitGroup
	for i := range floodCrowd {
		all.Go(func() {
			for n := 0; pace.Wait(ctx) == nil; n++ {
				switch err := s.post(ctx, "Present", flooder, fmt.Sprintf("n%d-%d", i, n)); {
				case err == nil:
					presented.Add(1)
				case apierrors.IsTooManyRequests(err) || strings.Contains(err.Error(), "(S9."):
					refused.Add(1)
					time.Sleep(10 * time.Millisecond) // a well-behaved client would wait longer
				case ctx.Err() == nil:
					t.Errorf("the flood: %v", err)
					return
				}
			}
		})
	}
	silence = func() {
		cancel()
		all.Wait()
	}
	t.Cleanup(silence)
	return presented, refused, silence
}

// Servers learn the budget a moment later.
func (a *arena) setBudget(ctx context.Context, t *testing.T, namespace, budget string) {
	t.Helper()
	admin := must.Get(a.kube.Clients())(t)
	must.Get(admin.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"kubi.zone/budget":%q}}}`, budget), metav1.PatchOptions{}))(t)
}

// 101: S9, S13.12. A namespace gets only the challenges that its budgets permit, and another's are handled meanwhile,
// though the same cert-manager posts them. A refusal is in the response, so that no worker of cert-manager waits for
// a budget. Existing challenges may be removed.
func floodOfChallenges(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	s := a.startSolver(ctx, t)
	presented, _, silence := s.flood(ctx, t)
	until(ctx, t, "a flood", func() error {
		if presented.Load() < floodCrowd {
			return fmt.Errorf("%d challenges", presented.Load())
		}
		return nil
	})
	var before []int64
	for n := range 20 {
		from := presented.Load()
		must.Succeed(t, s.post(ctx, "Present", lone, fmt.Sprintf("turn-%d", n)))
		before = append(before, presented.Load()-from)
		must.Succeed(t, s.post(ctx, "CleanUp", lone, fmt.Sprintf("turn-%d", n)))
	}
	slices.Sort(before)
	t.Logf("of the challenges of the flood, %d of which are under way, so many were answered before one of another namespace: %v",
		floodCrowd, before)
	if median := before[len(before)/2]; median > 3*floodCrowd {
		t.Errorf("half of the challenges of another namespace waited for %d of the flood and more", median)
	}
	a.setBudget(ctx, t, flooder, "written=1Ki")
	more := 0
	until(ctx, t, "refused by what is written", func() error {
		more++
		if err := s.post(ctx, "Present", flooder, fmt.Sprintf("more-%d", more)); err == nil || !strings.Contains(err.Error(), "(S9.2)") {
			return fmt.Errorf("after %d challenges of the flood: %v", presented.Load(), err)
		}
		return nil
	})
	for n := range 10 {
		for _, action := range []string{"Present", "CleanUp"} {
			if err := s.post(ctx, action, lone, fmt.Sprintf("lone-%d", n)); err != nil {
				t.Errorf("%s of another namespace: %v", action, err)
			}
		}
	}
	silence()
	t.Logf("%d challenges were presented before the budget was used up", presented.Load())

	// Remaining challenges are removed while the budget is used up.
	a.setBudget(ctx, t, flooder, "stored=1Ki,written=unlimited")
	until(ctx, t, "refused by what is stored", func() error {
		more++
		err := s.post(ctx, "Present", flooder, fmt.Sprintf("more-%d", more))
		if err == nil || !strings.Contains(err.Error(), "the limit is 1.0 KiB") {
			return fmt.Errorf("not refused: %v", err)
		}
		return nil
	})
	if err := s.post(ctx, "CleanUp", flooder, "first"); err != nil {
		t.Errorf("a namespace over its budget does not clean up: %v", err)
	}
	must.Succeed(t, a.tenants[flooder].records().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// A namespace floods the solver with DNS-01 challenges (number 101 in the table of attacks). With -noisy, the test
// measures challenges and writes of another namespace: their p99 may not double.
func TestNoise_challenges(t *testing.T) {
	if *noisy == 0 {
		t.Skip("without -noisy there is nothing to measure")
	}
	a := requireArena(t)
	ctx := within(t, 2*waitTimeout+4**noisy)
	requireIdleMachine(t)
	s := a.startSolver(ctx, t)
	calm := a.tenants[victim].tenantAt(t, s.server) // challenges not beside the flood do not wait for it
	solve := func(limit time.Duration) (elapsed []time.Duration) {
		for end := time.Now().Add(limit); len(elapsed) < 40 || time.Now().Before(end); {
			name, began := fmt.Sprintf("lone-%d", len(elapsed)), time.Now()
			must.Succeed(t, s.post(ctx, "Present", lone, name))
			elapsed = append(elapsed, time.Since(began))
			must.Succeed(t, s.post(ctx, "CleanUp", lone, name))
			time.Sleep(10 * time.Millisecond)
		}
		return elapsed
	}
	const rounds = 3
	var solved, written [2][]time.Duration // alone, beside the flood
	measure := func(beside int) {
		solved[beside] = append(solved[beside], solve(*noisy/(4*rounds))...)
		written[beside] = append(written[beside], calm.changeQuietly(ctx, t, 40, time.Now().Add(*noisy/(4*rounds)))...)
	}
	for range rounds {
		measure(0)
		presented, refused, silence := s.flood(ctx, t)
		began := time.Now()
		measure(1)
		silence()
		t.Logf("the flood: %d challenges in %s, %d refused", presented.Load(), time.Since(began).Round(time.Second), refused.Load())
		must.Succeed(t, a.tenants[flooder].records().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	for what, of := range map[string][2][]time.Duration{"challenges": solved, "writes": written} {
		alone, beside := percentileOf(of[0], 99), percentileOf(of[1], 99)
		t.Logf("%s of another: %d alone, p50 %s, p99 %s; %d beside the flood, p50 %s, p99 %s: %.1f times", what, len(of[0]),
			percentileOf(of[0], 50), alone, len(of[1]), percentileOf(of[1], 50), beside, float64(beside)/float64(alone))
		if beside >= 2*alone {
			t.Errorf("the flood raises p99 of %s from %s to %s", what, alone, beside)
		}
	}
}
