// What jPOS's JCESecurityModule and Bouncy Castle compute: a line of fields in, a line out. The argument names a file for its own master keys.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.security.Key;
import java.util.HexFormat;
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
import org.jpos.security.SMException;
import org.jpos.security.SecureDESKey;
import org.jpos.security.jceadapter.JCESecurityModule;
import org.jpos.util.Logger;

public class Peer extends JCESecurityModule {
    private static final HexFormat HEX = HexFormat.of();

    Peer(SimpleConfiguration settings) throws Exception {
        super(settings, new Logger(), "peer");
    }

    private static Key clear(String value) {
        return new SecretKeySpec(HEX.parseHex(value + value.substring(0, 16)), "DESede");
    }

    private SecureDESKey key(String type, String value) throws Exception {
        return encryptToLMK(SMAdapter.LENGTH_DES3_2KEY, type, clear(value));
    }

    // KEY PAN DATE SERVICE
    private String cvv(String[] given) throws Exception {
        return calculateCVD(given[2], clear(given[1]), given[3], given[4]);
    }

    // KEY KEY BLOCK PAN
    private String translate(String[] given) throws Exception {
        SecureDESKey from = key(SMAdapter.TYPE_ZPK, given[1]), to = key(SMAdapter.TYPE_ZPK, given[2]);
        EncryptedPIN block = new EncryptedPIN(HEX.parseHex(given[3]), SMAdapter.FORMAT01, given[4], true);
        return HEX.formatHex(translatePIN(block, from, to, SMAdapter.FORMAT01).getPINBlock());
    }

    // KEY SCHEME OPTION PAN PSN ATC UN DATA ARQC CODE: the data are padded
    private String arqc(String[] given) throws Exception {
        SKDMethod sessions = SKDMethod.valueOf(given[2]);
        MKDMethod cards = MKDMethod.valueOf("OPTION_" + given[3]);
        byte[] response = verifyARQCGenerateARPC(
            cards, sessions, key(SMAdapter.TYPE_MK_AC, given[1]), given[4], given[5], HEX.parseHex(given[9]), HEX.parseHex(given[6]),
            HEX.parseHex(given[7]), HEX.parseHex(given[8]), ARPCMethod.METHOD_1, HEX.parseHex(given[10]), null);
        return response == null ? "wrong" : HEX.formatHex(response);
    }

    // encipher|decipher KEY TWEAK TEXT, of decimal digits
    private String ff1(String[] given) {
        FPEFF1Engine engine = new FPEFF1Engine(AESEngine.newInstance());
        byte[] tweak = given[3].equals("-") ? new byte[0] : HEX.parseHex(given[3]);
        engine.init(given[1].equals("encipher"), new FPEParameters(new KeyParameter(HEX.parseHex(given[2])), 10, tweak));
        byte[] text = new byte[given[4].length()], out = new byte[text.length];
        for (int at = 0; at < text.length; at++)
            text[at] = (byte) (given[4].charAt(at) - '0');
        engine.processBlock(text, 0, text.length, out, 0);
        StringBuilder digits = new StringBuilder();
        for (byte digit : out)
            digits.append(digit);
        return digits.toString();
    }

    private String answer(String[] given) throws Exception {
        switch (given[0]) {
            case "cvv": return cvv(given);
            case "translate": return translate(given);
            case "arqc": return arqc(given);
            default: return ff1(given);
        }
    }

    public static void main(String[] arguments) throws Exception {
        SimpleConfiguration settings = new SimpleConfiguration();
        settings.put("lmk", arguments[0]);
        settings.put("rebuildlmk", "true");
        settings.put("provider", "org.bouncycastle.jce.provider.BouncyCastleProvider");
        Peer peer = new Peer(settings);
        StringBuilder out = new StringBuilder();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String said;
            try {
                said = peer.answer(line.split(" "));
            } catch (SMException | IllegalArgumentException refused) {
                said = "refused";
            }
            out.append(said).append('\n');
        }
        System.out.print(out);
    }
}
