package remotebackup

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/percached/percached/internal/base/fault"
)

// scheme begins the address of a place.
const scheme = "s3://"

// IsPlace says whether a text names a place in object storage, not a file.
func IsPlace(text string) bool { return strings.HasPrefix(text, scheme) }

// Place is a prefix in a bucket of an S3-compatible server.
type Place struct {
	Bucket, Prefix string
	Endpoint       string // host and port
	Region         string
	Plain          bool // http instead of https
}

// amazon is the endpoint without another one.
const amazon = "s3.amazonaws.com"

// Parse reads s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION.
func Parse(text string) (p Place, err error) {
	u, err := url.Parse(text)
	if err == nil && u.User != nil {
		return p, errors.New("the address contains credentials; put them into a file (backup-key-file) or the environment")
	}
	if err != nil || u.Scheme != "s3" || u.Host == "" || strings.Contains(u.Host, ":") {
		return p, fmt.Errorf("%s is not an address such as s3://BUCKET/PREFIX?endpoint=https://HOST", shown(text))
	}
	p = Place{Bucket: u.Host, Prefix: strings.Trim(path.Clean("/"+u.Path), "/"), Endpoint: amazon}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return p, fmt.Errorf("the query of %s cannot be read", shown(text))
	}
	insecure := query.Get("insecure") == "true"
	for name, values := range query {
		switch value := values[0]; {
		case len(values) > 1:
			return p, fmt.Errorf("%s is named twice", shown(name))
		case name == "region":
			p.Region = value
		case name == "insecure":
		case name == "endpoint":
			e, err := url.Parse(value)
			if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || strings.Trim(e.Path, "/") != "" || e.User != nil {
				return p, fmt.Errorf("the endpoint %s is not an address such as https://HOST:PORT", shown(value))
			}
			p.Endpoint, p.Plain = e.Host, e.Scheme == "http"
		default:
			return p, fmt.Errorf("the unknown parameter %s; there are endpoint, region and insecure", shown(name))
		}
	}
	if p.Plain && !insecure && !loopback(p.Endpoint) {
		return p, fmt.Errorf("documents would travel to %s unencrypted; use https, or add insecure=true in a network that you trust", p.Endpoint)
	}
	if p.Region == "" && p.Endpoint != amazon {
		p.Region = "us-east-1" // what servers call the only one
	}
	return p, nil
}

// shown quotes a text for an error, unless it may contain credentials.
func shown(text string) string {
	if strings.Contains(text, "@") {
		return "(hidden, because it may contain credentials)"
	}
	return strconv.Quote(text)
}

func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// String is the address without its endpoint.
func (p Place) String() string { return scheme + path.Join(p.Bucket, p.Prefix) }

// object is the full name of an object.
func (p Place) object(name string) string {
	if p.Prefix == "" {
		return name
	}
	return p.Prefix + "/" + name
}

// keys reads the credentials: from a file, whose first line is the access key and whose second is the
// secret, or from the environment.
func keys(file string, getenv func(string) string) (*credentials.Credentials, error) {
	const op = "remotebackup.keys"
	if file == "" {
		id, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY")
		if id == "" || secret == "" {
			return nil, fault.New(fault.Invalid, op, "there are no credentials for the object storage; name a file with them (backup-key-file), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
		}
		return credentials.NewStaticV4(id, secret, getenv("AWS_SESSION_TOKEN")), nil
	}
	info, err := os.Stat(file)
	var text []byte
	if err == nil {
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return nil, fault.New(fault.Invalid, op, "others may read the credentials in %s; run chmod 600 %s", file, file)
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return nil, fault.New(fault.Unavailable, op, "cannot read the credentials in %s: %w", file, err)
	}
	lines := strings.Fields(string(text))
	if len(lines) != 2 {
		return nil, fault.New(fault.Invalid, op, "%s must have two lines: the access key, and the secret key", file)
	}
	return credentials.NewStaticV4(lines[0], lines[1], ""), nil
}
