package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// Numbers are this wide in what is sent, so that a new one can be written over the old.
	digits = 10
	// Stand where resource version and update number go.
	versionMark = "VVVVVVVVVV"
	updateMark  = "UUUUUUUUUU"
	// Resource versions: that of the list, and of update i, which is updateVersion + i.
	listVersion   = 1_000_000_000
	updateVersion = 2_000_000_000
	// A client has this long after the initial events to come to rest.
	pause = 3 * time.Second
	tick  = time.Millisecond
)

// Everything that goes over the wire, encoded beforehand.
type encoding struct {
	contentType string
	list        []byte
	added       [][]byte // One event for each pod.
	modified    []template
	end         []byte // The bookmark after the initial events.
}

// An event with two numbers to fill in.
type template struct {
	bytes           []byte
	version, update int // Where they stand.
}

func (t template) with(update int) []byte {
	copy(t.bytes[t.version:], fmt.Appendf(nil, "%0*d", digits, updateVersion+update))
	copy(t.bytes[t.update:], fmt.Appendf(nil, "%0*d", digits, update))
	return t.bytes
}

type server struct {
	encodings map[string]*encoding // By content type.
	rate      int
	updates   int
}

func serve(arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "is written, for clients")
	rate := flags.Int("rate", 5000, "updates a second")
	seconds := flags.Int("seconds", 30, "for how long")
	_ = flags.Parse(arguments)

	var pods corev1.PodList
	if err := json.NewDecoder(os.Stdin).Decode(&pods); err != nil {
		return fmt.Errorf("reading the list of pods: %w", err)
	}
	s := server{encodings: map[string]*encoding{}, rate: *rate, updates: *rate * *seconds}
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		made, err := encode(contentType, pods.Items)
		if err != nil {
			return err
		}
		s.encodings[contentType] = made
	}
	certificate, authority, err := makeCertificate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := writeKubeconfig(*kubeconfig, listener.Addr().String(), authority); err != nil {
		return err
	}
	first := s.encodings[runtime.ContentTypeJSON].modified[0]
	report{"updates": s.updates, "sum": lastUpdates(len(pods.Items), s.updates),
		"bytes": len(first.bytes)}.print()
	web := http.Server{
		Handler:   http.HandlerFunc(s.pods),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog:  log.New(io.Discard, "", 0), // Clients leave as they like.
	}
	return web.ServeTLS(listener, "", "")
}

// The sum of the numbers that the pods carry in the end; update i goes to pod i modulo their number.
func lastUpdates(pods, updates int) (sum int64) {
	for i := max(0, updates-pods); i < updates; i++ {
		sum += int64(i)
	}
	return sum
}

func encode(contentType string, pods []corev1.Pod) (*encoding, error) {
	info, found := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	if !found {
		return nil, fmt.Errorf("no serializer for %s", contentType)
	}
	version := corev1.SchemeGroupVersion
	whole := scheme.Codecs.EncoderForVersion(info.Serializer, version)
	made := &encoding{contentType: contentType}

	event := func(kind watch.EventType, object runtime.Object) ([]byte, error) {
		raw, err := runtime.Encode(whole, object)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		frame := info.StreamSerializer.Framer.NewFrameWriter(&out)
		wrapped := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}}
		if err := info.StreamSerializer.Encode(wrapped, frame); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	}

	list := corev1.PodList{Items: make([]corev1.Pod, len(pods))}
	list.ResourceVersion = fmt.Sprint(listVersion)
	for i := range pods {
		pod := pods[i].DeepCopy()
		pod.ResourceVersion = versionMark
		pod.Annotations[updateAnnotation] = updateMark
		modified, err := event(watch.Modified, pod)
		if err != nil {
			return nil, err
		}
		marked := template{bytes: modified, version: bytes.Index(modified, []byte(versionMark)),
			update: bytes.Index(modified, []byte(updateMark))}
		if marked.version < 0 || marked.update < 0 {
			return nil, errors.New("an encoded pod lacks its marks")
		}
		made.modified = append(made.modified, marked)

		pod.ResourceVersion = fmt.Sprint(listVersion)
		pod.Annotations[updateAnnotation] = "none"
		pod.DeepCopyInto(&list.Items[i])
		added, err := event(watch.Added, pod)
		if err != nil {
			return nil, err
		}
		made.added = append(made.added, added)
	}
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(listVersion),
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	var err error
	if made.end, err = event(watch.Bookmark, end); err != nil {
		return nil, err
	}
	made.list, err = runtime.Encode(whole, &list)
	return made, err
}

// GET /api/v1/pods: the whole list, or a watch with or without initial events. What is asked beyond
// that (selectors, limits, versions) is not looked at.
func (s *server) pods(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/api/v1/pods" {
		http.NotFound(w, r)
		return
	}
	chosen := s.encodings[runtime.ContentTypeJSON]
	if strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		chosen = s.encodings[runtime.ContentTypeProtobuf]
	}
	query := r.URL.Query()
	if query.Get("watch") == "" {
		w.Header().Set("Content-Type", chosen.contentType)
		_, _ = w.Write(chosen.list)
		return
	}
	contentType := chosen.contentType
	if contentType == runtime.ContentTypeProtobuf {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	if query.Get("sendInitialEvents") == "true" {
		for _, event := range chosen.added {
			_, _ = w.Write(event)
		}
		_, _ = w.Write(chosen.end)
	}
	_ = http.NewResponseController(w).Flush()
	time.Sleep(pause)
	s.play(w, r, chosen)
	<-r.Context().Done()
}

// Sends all updates at their pace. One watch at a time: templates are filled in place.
func (s *server) play(w http.ResponseWriter, r *http.Request, chosen *encoding) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	control := http.NewResponseController(w)
	start := time.Now()
	for sent := 0; sent < s.updates; {
		select {
		case <-r.Context().Done():
			return
		case <-ticks.C:
		}
		due := min(s.updates, int(time.Since(start).Seconds()*float64(s.rate)))
		for ; sent < due; sent++ {
			event := chosen.modified[sent%len(chosen.modified)].with(sent)
			if _, err := w.Write(event); err != nil {
				return
			}
		}
		if control.Flush() != nil {
			return
		}
	}
}

func writeKubeconfig(file, address string, authority []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["bench"] = &clientcmdapi.Cluster{
		Server: "https://" + address, CertificateAuthorityData: authority,
	}
	config.AuthInfos["bench"] = clientcmdapi.NewAuthInfo()
	config.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "bench"}
	config.CurrentContext = "bench"
	return clientcmd.WriteToFile(*config, file)
}
