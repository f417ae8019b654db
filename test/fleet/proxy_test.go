// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"kubi.zone/kubizone/test/must"
)

const proxyLag = 500 * time.Millisecond

// proxy acts as kube-proxy and forwards port 53 of a Service's address to ready pods in the Service's EndpointSlices.
type proxy struct {
	w     *world
	k     *kubelet
	at    netip.AddrPort
	pods  atomic.Pointer[[]string]
	next  atomic.Uint64
	alone atomic.Int64
}

func (w *world) runProxy(k *kubelet, service string) *proxy {
	w.t.Helper()
	p := &proxy{w: w, k: k}
	p.pods.Store(&[]string{})
	w.waitUntil("the Service "+service+" has an address", func() error {
		of, err := w.core.CoreV1().Services(w.namespace).Get(w.ctx, service, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ip, err := netip.ParseAddr(of.Spec.ClusterIP)
		p.at = netip.AddrPortFrom(ip, 53)
		return err
	})
	factory := informers.NewSharedInformerFactoryWithOptions(w.core, 0, informers.WithNamespace(w.namespace), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = discoveryv1.LabelServiceName + "=" + service
	}))
	slices := factory.Discovery().V1().EndpointSlices()
	changed := make(chan struct{}, 1)
	note := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	must.Get(slices.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, o any) { note(o) }, DeleteFunc: note}))(w.t)
	factory.StartWithContext(w.ctx)
	go func() {
		for {
			select {
			case <-w.ctx.Done():
				return
			case <-changed:
			}
			timer := time.NewTimer(proxyLag)
			select {
			case <-w.ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			all, err := slices.Lister().List(labels.Everything())
			if err != nil {
				continue
			}
			var ready []string
			for _, slice := range all {
				for _, endpoint := range slice.Endpoints {
					if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready && slice.AddressType == discoveryv1.AddressTypeIPv4 {
						ready = append(ready, endpoint.Addresses...)
					}
				}
			}
			p.pods.Store(&ready)
		}
	}()
	must.Succeed(w.t, p.forwardPackets())
	must.Succeed(w.t, p.forwardConnections())
	w.waitUntil("the Service "+service+" has a pod", func() error {
		if len(*p.pods.Load()) == 0 {
			return errStillThere
		}
		return nil
	})
	p.alone.Store(0)
	return p
}

func (p *proxy) choosePod() (string, bool) {
	ready := *p.pods.Load()
	if len(ready) > 0 {
		if at, ok := p.k.findAddress(ready[p.next.Add(1)%uint64(len(ready))]); ok {
			return at.String(), true
		}
	}
	p.alone.Add(1)
	return "", false
}

const proxyTimeout = 30 * time.Second

func (p *proxy) forwardPackets() error {
	from, err := net.ListenPacket("udp", p.at.String())
	if err != nil {
		return err
	}
	context.AfterFunc(p.w.ctx, func() { from.Close() })
	go func() {
		for {
			question := make([]byte, 4096)
			n, client, err := from.ReadFrom(question)
			if err != nil {
				return
			}
			go func() {
				at, ok := p.choosePod()
				if !ok {
					return
				}
				to, err := net.Dial("udp", at)
				if err != nil {
					return
				}
				defer to.Close()
				_ = to.SetDeadline(time.Now().Add(proxyTimeout))
				answer := make([]byte, 65536)
				if _, err := to.Write(question[:n]); err != nil {
					return
				}
				if n, err := to.Read(answer); err == nil {
					_, _ = from.WriteTo(answer[:n], client)
				}
			}()
		}
	}()
	return nil
}

func (p *proxy) forwardConnections() error {
	listener, err := net.Listen("tcp", p.at.String())
	if err != nil {
		return err
	}
	context.AfterFunc(p.w.ctx, func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				at, ok := p.choosePod()
				if !ok {
					return
				}
				to, err := net.Dial("tcp", at)
				if err != nil {
					return
				}
				defer to.Close()
				go func() {
					_, _ = io.Copy(to, client)
					_ = to.(*net.TCPConn).CloseWrite()
				}()
				_, _ = io.Copy(client, to)
			}()
		}
	}()
	return nil
}
