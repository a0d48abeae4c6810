// jPOS's JCESecurityModule and Bouncy Castle's FF1 at the cases of `cryptand bench --only payments`, on one thread. The argument names a file
// for jPOS's own master keys: it holds every other key enciphered under them, in this process.
//
//     case OPERATION FIELD...     keeps a case, whose fields are hexadecimal; says what comes out, or `refused` and why
//     run OPERATION SECONDS       computes its cases in turn for so long, each result compared; says how many, and the nanoseconds
//
// The first line says what is here.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.Key;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.spec.SecretKeySpec;
import org.bouncycastle.crypto.engines.AESEngine;
import org.bouncycastle.crypto.fpe.FPEFF1Engine;
import org.bouncycastle.crypto.params.FPEParameters;
import org.bouncycastle.crypto.params.KeyParameter;
import org.jpos.core.SimpleConfiguration;
import org.jpos.security.ARPCMethod;
import org.jpos.security.EncryptedPIN;
import org.jpos.security.MKDMethod;
import org.jpos.security.SKDMethod;
import org.jpos.security.SMAdapter;
import org.jpos.security.SecureDESKey;
import org.jpos.security.jceadapter.JCESecurityModule;
import org.jpos.util.Logger;

public class Jpos extends JCESecurityModule {
    interface Run {
        byte[] run() throws Exception;
    }

    record Case(Run run, byte[] wanted) {}

    private static final HexFormat HEX = HexFormat.of();
    private final Map<String, List<Case>> kept = new HashMap<>();

    Jpos(SimpleConfiguration settings) throws Exception {
        super(settings, new Logger(), "peer");
    }

    private static Key clear(byte[] value) {
        byte[] three = Arrays.copyOf(value, 24);
        System.arraycopy(value, 0, three, 16, 8);
        return new SecretKeySpec(three, "DESede");
    }

    private SecureDESKey key(String type, byte[] value) throws Exception {
        return encryptToLMK(SMAdapter.LENGTH_DES3_2KEY, type, clear(value));
    }

    private static String text(byte[] field) {
        return new String(field, StandardCharsets.US_ASCII);
    }

    private Run translate(byte[][] given) throws Exception {
        SecureDESKey from = key(SMAdapter.TYPE_ZPK, given[0]), to = key(SMAdapter.TYPE_ZPK, given[1]);
        String pan = text(given[3]);
        return () -> {
            EncryptedPIN block = new EncryptedPIN(given[2], SMAdapter.FORMAT01, pan, true);
            return translatePIN(block, from, to, SMAdapter.FORMAT01).getPINBlock();
        };
    }

    private Run cvv(byte[][] given) {
        Key key = clear(given[0]);
        String pan = text(given[1]), date = text(given[2]), service = text(given[3]);
        return () -> calculateCVD(pan, key, date, service).getBytes(StandardCharsets.US_ASCII);
    }

    private Run arqc(byte[][] given) throws Exception {
        SecureDESKey issuer = key(SMAdapter.TYPE_MK_AC, given[0]);
        String pan = text(given[1]), sequence = text(given[2]);
        byte[] data = Arrays.copyOf(given[4], (given[4].length + 8) / 8 * 8);
        data[given[4].length] = (byte) 0x80;
        return () -> {
            byte[] response = verifyARQCGenerateARPC(
                MKDMethod.OPTION_A, SKDMethod.EMV_CSKD, issuer, pan, sequence, given[5], given[3], new byte[4], data,
                ARPCMethod.METHOD_1, given[6], null);
            return response == null ? new byte[] {'0'} : response;
        };
    }

    private Run ff1(byte[][] given) {
        KeyParameter key = new KeyParameter(given[0]);
        byte[] digits = new byte[given[1].length];
        for (int at = 0; at < digits.length; at++)
            digits[at] = (byte) (given[1][at] - '0');
        return () -> {
            FPEFF1Engine engine = new FPEFF1Engine(AESEngine.newInstance());
            engine.init(true, new FPEParameters(key, 10, new byte[0]));
            byte[] out = new byte[digits.length];
            engine.processBlock(digits, 0, digits.length, out, 0);
            for (int at = 0; at < out.length; at++)
                out[at] += '0';
            return out;
        };
    }

    private String keep(String[] line) throws Exception {
        byte[][] given = Arrays.stream(line).skip(2).map(HEX::parseHex).toArray(byte[][]::new);
        Run run = switch (line[1]) {
            case "pin-translate" -> translate(given);
            case "cvv-verify" -> cvv(given);
            case "arqc-verify" -> arqc(given);
            case "ff1" -> ff1(given);
            default -> throw new IllegalArgumentException(line[1]);
        };
        byte[] said = run.run();
        kept.computeIfAbsent(line[1], name -> new ArrayList<>()).add(new Case(run, said));
        return HEX.formatHex(said);
    }

    private String run(String operation, double seconds) throws Exception {
        List<Case> cases = kept.get(operation);
        long begin = System.nanoTime(), end = begin + (long) (seconds * 1e9), count = 0;
        while (count == 0 || System.nanoTime() < end) {
            for (Case one : cases)
                if (!Arrays.equals(one.run.run(), one.wanted))
                    throw new IllegalStateException(operation + ": two answers to one case");
            count += cases.size();
        }
        return count + " " + (System.nanoTime() - begin);
    }

    private static String version(String jar) {
        Matcher found = Pattern.compile("/" + jar + "-([0-9.]+)\\.jar").matcher(System.getProperty("java.class.path"));
        return found.find() ? found.group(1) : "?";
    }

    public static void main(String[] arguments) throws Exception {
        SimpleConfiguration settings = new SimpleConfiguration();
        settings.put("lmk", arguments[0]);
        settings.put("rebuildlmk", "true");
        settings.put("provider", "org.bouncycastle.jce.provider.BouncyCastleProvider");
        Jpos peer = new Jpos(settings);
        System.out.println("jPOS " + version("jpos") + ",bcprov " + version("bcprov-lts8on"));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            try {
                System.out.println(words[0].equals("case") ? peer.keep(words) : peer.run(words[1], Double.parseDouble(words[2])));
            } catch (Exception refused) {
                System.out.println("refused " + refused.toString().replace('\n', ' '));
            }
        }
    }
}
