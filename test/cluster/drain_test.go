// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drained names the environment variable that sets how many records TestNamespace_manyRecordsAreDrained makes.
const drained = "KUBIZONE_TEST_DRAIN"

// kube-controller-manager empties a namespace of thousands of records, through the aggregator and the ledger, and the
// zone in another namespace is without them (S8.3). How long it takes is measured and not judged.
func TestNamespace_manyRecordsAreDrained(t *testing.T) {
	c := need(t)
	ctx := within(t, 5*time.Minute)
	count := 2000
	if text := os.Getenv(drained); text != "" {
		count = must(strconv.Atoi(text))(t)
	}
	for _, namespace := range []string{"drain", "drain-zone"} {
		if err := c.kube.Namespace(ctx, namespace); err != nil {
			t.Fatal(err)
		}
	}
	typed, objects := clients(t, c.kube.Admin())
	if _, err := objects.Resource(zones).Namespace("drain-zone").Create(ctx, zoneObject("drain-zone", "zone", "drain.example.", everyName("drain")), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	entryCount := func() int64 {
		t.Helper()
		zone, err := objects.Resource(zones).Namespace("drain-zone").Get(ctx, "zone", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status, _ := zone.Object["status"].(map[string]any)
		entries, _ := status["entryCount"].(int64)
		return entries
	}
	empty := entryCount()

	begin := time.Now()
	var writers sync.WaitGroup
	for worker := range 16 {
		writers.Go(func() {
			for i := worker; i < count; i += 16 {
				name := fmt.Sprintf("r%d", i)
				if _, err := objects.Resource(records).Namespace("drain").Create(ctx, recordObject("drain", name, name+".drain.example."), metav1.CreateOptions{}); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	writers.Wait()
	made := time.Since(begin)
	if got := entryCount(); got != empty+int64(count) || t.Failed() {
		t.Fatalf("the zone has %d entries, want %d", got, empty+int64(count))
	}

	begin = time.Now()
	if err := typed.CoreV1().Namespaces().Delete(ctx, "drain", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := typed.CoreV1().Namespaces().Get(ctx, "drain", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the namespace is still there (%v), the zone has %d entries:\n%s", err, entryCount(), c.kube.ControllerManagerLog())
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%d records made in %s, the namespace gone in %s", count, made.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	if got := entryCount(); got != empty {
		t.Errorf("the zone has %d entries, want %d as before", got, empty)
	}
}
