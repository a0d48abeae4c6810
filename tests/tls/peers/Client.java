// A client of TLS with the classes of the JDK: `java Client.java NAME PORT TRUSTED VERSION SUITE COUNT` connects COUNT times to
// 127.0.0.1, one after the other, asks as a browser does, and prints of each connection its version, suite and answer.
// SUITE is "-" for those that the JDK offers by itself. TRUSTED is a PEM file of the certificates that it trusts.

import java.io.FileInputStream;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.List;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

public class Client {
    public static void main(String[] arguments) throws Exception {
        String name = arguments[0], version = arguments[3], suite = arguments[4];
        int port = Integer.parseInt(arguments[1]), count = Integer.parseInt(arguments[5]);
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        try (InputStream file = new FileInputStream(arguments[2])) {
            int number = 0;
            for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                trusted.setCertificateEntry("trusted" + number++, one);
            }
        }
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        for (int number = 0; number < count; number++) {
            // By name and port the JDK finds the session that it goes on with.
            InetAddress address = InetAddress.getByAddress(name, new byte[] {127, 0, 0, 1});
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(
                    new java.net.Socket(address, port), name, port, true)) {
                SSLParameters parameters = socket.getSSLParameters();
                parameters.setProtocols(new String[] {version});
                parameters.setServerNames(List.of(new SNIHostName(name)));
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                if (!suite.equals("-")) {
                    parameters.setCipherSuites(new String[] {suite});
                }
                socket.setSSLParameters(parameters);
                socket.setSoTimeout(120_000);
                socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                StringBuilder answer = new StringBuilder();
                while (!answer.toString().endsWith("served\n")) {
                    int next = socket.getInputStream().read();
                    if (next < 0) {
                        throw new IllegalStateException("cut: " + answer);
                    }
                    answer.append((char) next);
                }
                System.out.println(socket.getSession().getProtocol() + " " + socket.getSession().getCipherSuite() + " served");
            }
        }
    }
}
