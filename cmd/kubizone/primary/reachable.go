// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

const (
	// kube-proxy applies a change of EndpointSlices within proxyTime.
	proxyTime, endpointTimeout = time.Second, 30 * time.Second
)

var errNoEndpoint = errors.New("it has no ready endpoint at an address of this pod")

// waitForEndpoint waits until the Service has an address of this pod as a ready endpoint, and kube-proxy has had time
// to follow. After endpointTimeout it logs the reason and returns.
func waitForEndpoint(ctx context.Context, cluster kubernetes.Interface, service types.NamespacedName, own []net.Addr) {
	var last error
	times := 0
	err := wait.PollUntilContextTimeout(ctx, proxyTime, endpointTimeout, true, func(ctx context.Context) (bool, error) {
		times++
		if last = findEndpoint(ctx, cluster, service, own); last != nil {
			times = 0
		}
		// Seen twice, proxyTime apart: the nodes forward packets by now.
		return times == 2, nil
	})
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(last, "NOTIFY is sent, and secondaries may not reach the primary by its Service yet",
			"service", service, "after", endpointTimeout)
	}
}

// findEndpoint returns nil if the Service has a ready endpoint at one of the addresses, otherwise the reason.
func findEndpoint(ctx context.Context, cluster kubernetes.Interface, service types.NamespacedName, own []net.Addr) error {
	slicesOf := labels.Set{discoveryv1.LabelServiceName: service.Name}.String()
	found, err := cluster.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: slicesOf})
	if err != nil {
		return fmt.Errorf("its EndpointSlices cannot be read: %w", err)
	}
	isOwn := func(address string) bool {
		ip := net.ParseIP(address)
		return slices.ContainsFunc(own, func(one net.Addr) bool {
			network, ok := one.(*net.IPNet)
			return ok && network.IP.Equal(ip)
		})
	}
	for _, slice := range found.Items {
		for _, endpoint := range slice.Endpoints {
			// By the API, an absent condition means ready.
			if ptr.Deref(endpoint.Conditions.Ready, true) && slices.ContainsFunc(endpoint.Addresses, isOwn) {
				return nil
			}
		}
	}
	return errNoEndpoint
}
