// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/test/must"
)

func (t *tenant) measureAllocated(ctx context.Context, test *testing.T) (octets float64) {
	test.Helper()
	text := string(must.Get(t.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx))(test))
	_, rest, _ := strings.Cut(text, "\ngo_memstats_alloc_bytes_total ")
	if _, err := fmt.Sscan(rest, &octets); err != nil {
		test.Fatalf("the metrics have no go_memstats_alloc_bytes_total: %v", err)
	}
	return octets
}

// 87: S5.12. The cost of a body is proportional to its octets: 9,000 nested levels once took gigabytes, and went on
// after the client's 504.
func costlyBodies(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them, server := a.tenants[mallory], a.admin.tenantAt(t, a.server)
	must.Succeed(t, them.putRecord(ctx, "costly", "costly.own.shared.example.", "A", "192.0.2.85"))
	path := "/apis/kubi.zone/v1alpha1/namespaces/" + mallory + "/records/costly"
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	inserts := `[{"op":"add","path":"/x","value":[` + strings.Repeat("1,", 100_000) + `1]}` + strings.Repeat(`,{"op":"add","path":"/x/0","value":1}`, 6000) + `]`
	const many, bearable = 5, 128 << 20
	for what, x := range map[string]struct{ kind, body string }{
		"54 KB nested in a field that is unknown": {"application/merge-patch+json", `{"x":` + deep + `}`},
		"54 KB nested in managedFields":           {"application/merge-patch+json", `{"metadata":{"managedFields":[{"fieldsV1":` + deep + `}]}}`},
		"6,000 insertions into a long list":       {"application/json-patch+json", inserts},
		"2.8 MB of annotations":                   {"application/merge-patch+json", `{"metadata":{"annotations":{` + strings.Repeat(`"a":"xxxxxxxxxxxxxxxxxxxxxxxxx",`, 87_500) + `"b":""}}}`},
		"2.8 MB of objects":                       {"application/merge-patch+json", `{"x":[` + strings.Repeat("{},", 930_000) + "1]}"},
	} {
		before := server.measureAllocated(ctx, t)
		for range many {
			if code, text := them.sendOctets(ctx, t, http.MethodPatch, path, x.kind, []byte(x.body)); code != 0 && code != malformed &&
				code != tooLarge {
				t.Errorf("%s: %d %.200s", what, code, text)
			}
		}
		elapsed := server.measureAllocated(ctx, t) - before
		t.Logf("%s, %d KB, %d times: the server allocated %.1f MiB", what, len(x.body)>>10, many, elapsed/(1<<20))
		if elapsed > bearable {
			t.Errorf("%s: %d of them took %.0f MiB", what, many, elapsed/(1<<20))
		}
	}
}

// 88: a request has a seat of priority and fairness while its body arrives and its answer is sent. The seats of a
// client that neither sends nor reads are soon free, and others are served.
func slowClients(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	server := a.startBeside(ctx, t, "--max-requests-inflight", "2", "--max-mutating-requests-inflight", "2")
	calm, them := a.tenants[victim].tenantAt(t, server), a.tenants[mallory].tenantAt(t, server)
	must.Succeed(t, calm.putRecord(ctx, "quietvictim-seated", "seated.victim.example.", "TXT", "0"))
	for i := range 4 { // an answer that fits into no window
		big := makeRecord(mallory, fmt.Sprintf("unread-%d", i), fmt.Sprintf("unread-%d.own.shared.example.", i), "TXT")
		for n := range 10 {
			big.Spec.Values = append(big.Spec.Values, fmt.Sprint(n)+strings.Repeat("x", 3900))
		}
		must.Get(them.records().Create(ctx, big, metav1.CreateOptions{}))(t)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: must.Get(rest.TLSConfigFor(them.config))(t), DisableCompression: true, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
	}}
	t.Cleanup(client.CloseIdleConnections)
	waiting := regexp.MustCompile(`(?m)^apiserver_flowcontrol_current_inqueue_requests\{.*"global-default"\} [1-9]`)
	path := server.URL() + "/apis/kubi.zone/v1alpha1/namespaces/" + mallory + "/records"
	for what, ask := range map[string]func(ctx context.Context) (*http.Request, error){
		"bodies that never come": func(ctx context.Context) (*http.Request, error) {
			body, never := io.Pipe()
			t.Cleanup(func() { never.Close() })
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, body)
			if err == nil {
				request.Header.Set("Content-Type", "application/json")
			}
			return request, err
		},
		"answers that nobody reads": func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		},
	} {
		noise, silence := context.WithCancel(ctx)
		for range 8 {
			request := must.Get(ask(noise))(t)
			go func() {
				// The answer is neither read nor closed.
				answer, err := client.Do(request)
				if err == nil {
					<-noise.Done()
					answer.Body.Close()
				}
			}()
		}
		until(ctx, t, "all seats are taken by "+what, func() error {
			text := must.Get(a.admin.tenantAt(t, server).RESTClient().Get().AbsPath("/metrics").DoRaw(ctx))(t)
			if !waiting.Match(text) {
				return fmt.Errorf("no request waits for a seat")
			}
			return nil
		})
		err := calm.RESTClient().Patch(types.MergePatchType).Namespace(victim).Resource("records").Name("quietvictim-seated").
			Body(fmt.Appendf(nil, `{"spec":{"values":[%q]}}`, what)).MaxRetries(0).Do(ctx).Error()
		if err != nil {
			t.Errorf("another is not served beside %s: %v", what, apierrors.ReasonForError(err))
		}
		silence()
	}
}
